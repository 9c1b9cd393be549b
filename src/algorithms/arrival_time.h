// The three words in which gcra and leaky-bucket keep a debt: the moment at which it will be repaid.
//
// Head: {theoretical arrival time (tat) in whole microseconds, the rest of it in 1/rate_units of a microsecond, time of
// the last change}. tat and rest are one rational number; debt = (tat - time) * rate_units + rest.
#pragma once

#include <cstdint>

#include "algorithms/bucket.h"
#include "algorithms/debt.h"

namespace weir::algorithms {

struct ArrivalTime {
  static constexpr std::size_t kTat = 0;
  static constexpr std::size_t kRest = 1;
  static constexpr std::size_t kLast = 2;

  // The debt as it was at the last change. It is bounded there, and not at the time of asking, because a debt beyond
  // `most` (written under other limits) must shrink while the caller waits for it.
  static std::int64_t debt_at_last(const Allowance& allowance, ConstHead head, std::int64_t most) {
    const std::int64_t tat = std::max<std::int64_t>(0, head[kTat]);
    const std::int64_t last = clamp_tick(head[kLast]);
    if (tat < last) return 0;
    const std::int64_t rest = bounded(head[kRest], allowance.rate_units);
    return std::min(bounded_multiply(tat - last, allowance.rate_units) + rest, most);
  }

  static std::int64_t debt_at(const Allowance& allowance, ConstHead head, const Moment& moment, std::int64_t most) {
    const std::int64_t elapsed = moment.time - clamp_tick(head[kLast]);
    return repay(debt_at_last(allowance, head, most), elapsed, allowance.rate_units);
  }

  static void write(const Allowance& allowance, Head head, const Moment& moment, std::int64_t debt) {
    const Division division = divide(debt, allowance.rate_units);
    head[kTat] = moment.time + division.quotient;
    head[kRest] = division.rest;
    head[kLast] = moment.time;
  }

  static TimePoint idle_from(const Allowance& allowance, ConstHead head, std::int64_t most) {
    const std::int64_t debt = debt_at_last(allowance, head, most);
    return from_micros(clamp_tick(head[kLast]) + ticks_to_repay(debt, allowance.rate_units));
  }
};

}  // namespace weir::algorithms
