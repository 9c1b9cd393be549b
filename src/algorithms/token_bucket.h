// Token bucket (R5): refills limit/window, holds at most burst. At most burst + rate·T in any time T.
//
// Head: {debt in whole units, the rest of the debt in 1/rate_ticks of a unit, time of the last change}. Whole units
// stand apart because they keep their meaning when the limits change; the rest, less than one unit, is rounded up
// then, so that a change of limits never refills.
#pragma once

#include "algorithms/bucket.h"

namespace weir::algorithms {

struct TokenBucket {
  static ChargeOutcome evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                std::int64_t cost);
  static std::size_t tail_words_needed(const Allowance&, const ConstBucketWords&, TimePoint, std::int64_t) { return 0; }
  static void charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static bool take(const Allowance& allowance, Head head, TimePoint now, std::int64_t cost, ChargeOutcome& outcome,
                   TimePoint& idle_from);
  static void charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static void refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static TimePoint idle_from(const Allowance& allowance, const ConstBucketWords& bucket);
};

}  // namespace weir::algorithms
