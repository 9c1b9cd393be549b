// GCRA (R6): the token bucket told as one moment, the theoretical arrival time (tat) at which the bucket is full.
// Same admissions, remaining and times as the token bucket with the same limit, window and burst.
//
// Head: {tat in whole microseconds, the rest of it in 1/rate_units of a microsecond, time of the last change}. A
// change of limits keeps the moment at which the bucket is full, not the units used: that is what this state knows.
#pragma once

#include "algorithms/bucket.h"

namespace weir::algorithms {

struct Gcra {
  static ChargeOutcome evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                std::int64_t cost);
  static std::size_t tail_words_needed(const Allowance&, const ConstBucketWords&, TimePoint, std::int64_t) { return 0; }
  static void charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static void charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static void refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static TimePoint idle_from(const Allowance& allowance, const ConstBucketWords& bucket);
};

}  // namespace weir::algorithms
