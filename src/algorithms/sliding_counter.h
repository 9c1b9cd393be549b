// Sliding counter: the count of this aligned window, plus that of the previous one weighted by how much of it the
// sliding window still covers. Approximate: it assumes that the previous window's units were spread evenly, and
// a client that knows this can pass almost twice the limit in one window's length.
//
// Head: {count of the window of the last change, count of the window before it, time of the last change}. As in the
// fixed window, the windows follow from the time.
#pragma once

#include "algorithms/bucket.h"

namespace weir::algorithms {

struct SlidingCounter {
  static ChargeOutcome evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                std::int64_t cost);
  static std::size_t tail_words_needed(const Allowance&, const ConstBucketWords&, TimePoint, std::int64_t) { return 0; }
  static void charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static void charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static bool refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static std::int64_t counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                              TimePoint since);
  static void give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint since,
                        std::int64_t units);
  static std::int64_t charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                    std::int64_t units);
  static TimePoint idle_from(const Allowance& allowance, const ConstBucketWords& bucket);
  static TimePoint last_change(const ConstBucketWords& bucket);
  static Duration move_back(const BucketWords& bucket, Duration by);
};

}  // namespace weir::algorithms
