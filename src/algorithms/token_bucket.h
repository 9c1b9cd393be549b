// Token bucket (R5): refills limit/window, holds at most burst. At most burst + rate·T in any time T.
//
// Head: {debt in whole units, the rest of the debt in 1/rate_ticks of a unit, time of the last change}. Whole units
// stand apart because they keep their meaning when the limits change; the rest, less than one unit, is rounded up
// then, so that a change of limits never refills.
#pragma once

#include "algorithms/bucket.h"
#include "algorithms/debt.h"

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

 private:
  static constexpr std::size_t kWhole = 0;
  static constexpr std::size_t kRest = 1;
  static constexpr std::size_t kLast = 2;

  // The debt as it was at the last change, within what this allowance can owe.
  static std::int64_t debt_at_last(const Allowance& allowance, ConstHead head) {
    const std::int64_t whole = bounded(head[kWhole], allowance.burst);
    const std::int64_t rest = bounded(head[kRest], allowance.rate_ticks);
    return std::min(whole * allowance.rate_ticks + rest, burst_debt(allowance));
  }

  static std::int64_t debt_at(const Allowance& allowance, ConstHead head, const Moment& moment) {
    const std::int64_t elapsed = moment.time - clamp_tick(head[kLast]);
    return repay(debt_at_last(allowance, head), elapsed, allowance.rate_units);
  }

  static void write(const Allowance& allowance, Head head, const Moment& moment, std::int64_t debt);
};

// The most common step of all, and so in the header: the debt is worked out once, and what the answer divides is what
// the words need.
inline bool TokenBucket::take(const Allowance& allowance, Head head, TimePoint now, std::int64_t cost,
                              ChargeOutcome& outcome, TimePoint& idle_from) {
  const Moment moment(now, head[kLast]);
  const std::int64_t debt = debt_at(allowance, head, moment);
  outcome = burst_outcome(allowance, moment, debt, cost);
  if (!outcome.admitted || cost == 0) return false;
  const std::int64_t owed = debt + cost * allowance.rate_ticks;
  // remaining = ⌊(burst·ticks − owed)/ticks⌋, so the whole units owed are burst − remaining, rounded down.
  const std::int64_t whole_up = allowance.burst - outcome.remaining;
  const std::int64_t missing = whole_up * allowance.rate_ticks - owed;
  head[kWhole] = missing == 0 ? whole_up : whole_up - 1;
  head[kRest] = missing == 0 ? 0 : allowance.rate_ticks - missing;
  head[kLast] = moment.time;
  idle_from = from_micros(moment.now) + outcome.reset_after;
  return true;
}

}  // namespace weir::algorithms
