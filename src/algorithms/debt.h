// Debt: what is missing from a full bucket, in 1/rate_ticks of a unit. The arithmetic that token-bucket, gcra and
// leaky-bucket share.
//
// One unit of cost adds rate_ticks to the debt, and every microsecond repays rate_units of it: limit/window in lowest
// terms, so every fractional rate is exact and nothing drifts. Counting what was used, and not what is left, lets a
// bucket survive a change of its limits: what was used stays used. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/arithmetic.h"
#include "weir/allowance.h"
#include "weir/store.h"

namespace weir::algorithms {

// What is left of `debt` after `elapsed` microseconds. Precondition: neither is negative.
inline std::int64_t repay(std::int64_t debt, std::int64_t elapsed, std::int64_t rate_units) {
  std::int64_t repaid = 0;
  if (__builtin_mul_overflow(elapsed, rate_units, &repaid)) return 0;
  return std::max<std::int64_t>(0, debt - repaid);
}

inline std::int64_t ticks_to_repay(std::int64_t debt, std::int64_t rate_units) {
  // A rate of one unit every so many ticks is so common that its division is worth skipping.
  return rate_units == 1 ? debt : ceil_div(debt, rate_units);
}

// Precondition: allowance is a token-bucket's or gcra's; make_allowance saw to it that this fits.
inline std::int64_t burst_debt(const Allowance& allowance) { return allowance.burst * allowance.rate_ticks; }

// The debt after taking `cost`, at most `most`; a debt that is more already stays.
inline std::int64_t borrow(std::int64_t debt, std::int64_t cost, std::int64_t rate_ticks, std::int64_t most) {
  const std::int64_t wanted = debt + bounded_multiply(cost, rate_ticks);
  return std::max(debt, std::min(wanted, most));
}

inline std::int64_t give_back(std::int64_t debt, std::int64_t cost, std::int64_t rate_ticks) {
  return std::max<std::int64_t>(0, debt - bounded_multiply(cost, rate_ticks));
}

// What a bucket with `debt` at `moment` and a capacity of `burst` answers to `cost`.
inline ChargeOutcome burst_outcome(const Allowance& allowance, const Moment& moment, std::int64_t debt,
                                   std::int64_t cost) {
  ChargeOutcome outcome;
  const std::int64_t capacity = burst_debt(allowance);
  if (cost > allowance.burst) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else {
    const std::int64_t wanted = debt + cost * allowance.rate_ticks;
    if (wanted <= capacity) {
      debt = wanted;
    } else if (cost > 0) {
      outcome.admitted = false;
      outcome.retry_after = moment.until(moment.time + ticks_to_repay(wanted - capacity, allowance.rate_units));
    }
  }
  outcome.remaining = divide(capacity - debt, allowance.rate_ticks).quotient;
  if (debt > 0) outcome.reset_after = moment.until(moment.time + ticks_to_repay(debt, allowance.rate_units));
  return outcome;
}

}  // namespace weir::algorithms
