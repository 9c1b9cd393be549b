// Fixed window: at most `limit` in each window aligned to the epoch (or to the allowance's anchor), and so up to
// twice that in some span of one window's length.
//
// Head: {units taken in the window of the last change, 0, time of the last change}. The window's index is not stored:
// it follows from the time, so that a change of the window's length moves the count to the new window around it.
#pragma once

#include "algorithms/bucket.h"

namespace weir::algorithms {

struct FixedWindow {
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
