// take(): one charge of a bucket in one step, the hot path of the memory store.
#pragma once

#include "algorithms/bucket.h"
#include "algorithms/token_bucket.h"

namespace weir::algorithms {

// take() for any algorithm that keeps no tail.
bool take_by_algorithm(const Allowance& allowance, Head head, TimePoint now, std::int64_t cost, ChargeOutcome& outcome,
                       TimePoint& idle_from);

// evaluate() into `outcome`, charge() if that admits, and idle_from(), in one step that costs less than the three.
// False: nothing was charged, and idle_from means nothing. Precondition: the algorithm keeps no tail.
inline bool take(const Allowance& allowance, Head head, TimePoint now, std::int64_t cost, ChargeOutcome& outcome,
                 TimePoint& idle_from) {
  if (allowance.algorithm == Algorithm::token_bucket || allowance.algorithm == Algorithm::gcra) [[likely]]
    return TokenBucket::take(allowance, head, now, cost, outcome, idle_from);
  return take_by_algorithm(allowance, head, now, cost, outcome, idle_from);
}

}  // namespace weir::algorithms
