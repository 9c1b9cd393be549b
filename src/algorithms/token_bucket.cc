#include "algorithms/token_bucket.h"

#include "algorithms/debt.h"

namespace weir::algorithms {
namespace {

constexpr std::size_t kWhole = 0;
constexpr std::size_t kRest = 1;
constexpr std::size_t kLast = 2;

// The debt as it was at the last change, within what this allowance can owe.
inline std::int64_t debt_at_last(const Allowance& allowance, ConstHead head) {
  const std::int64_t whole = bounded(head[kWhole], allowance.burst);
  const std::int64_t rest = bounded(head[kRest], allowance.rate_ticks);
  return std::min(whole * allowance.rate_ticks + rest, burst_debt(allowance));
}

inline std::int64_t debt_at(const Allowance& allowance, ConstHead head, const Moment& moment) {
  const std::int64_t elapsed = moment.time - clamp_tick(head[kLast]);
  return repay(debt_at_last(allowance, head), elapsed, allowance.rate_units);
}

inline void write(const Allowance& allowance, Head head, const Moment& moment, std::int64_t debt) {
  const Division division = divide(debt, allowance.rate_ticks);
  head[kWhole] = division.quotient;
  head[kRest] = division.rest;
  head[kLast] = moment.time;
}

}  // namespace

ChargeOutcome TokenBucket::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                    std::int64_t cost) {
  const Moment moment(now, bucket.head[kLast]);
  return burst_outcome(allowance, moment, debt_at(allowance, bucket.head, moment), cost);
}

void TokenBucket::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  if (cost == 0) return;
  const Moment moment(now, bucket.head[kLast]);
  const std::int64_t debt = debt_at(allowance, bucket.head, moment);
  write(allowance, bucket.head, moment, borrow(debt, cost, allowance.rate_ticks, burst_debt(allowance)));
}

// The most common step of all: the debt is worked out once, and what the answer divides is what the words need.
bool TokenBucket::take(const Allowance& allowance, Head head, TimePoint now, std::int64_t cost, ChargeOutcome& outcome,
                       TimePoint& idle_from) {
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

void TokenBucket::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                std::int64_t cost) {
  charge(allowance, bucket, now, cost);
}

void TokenBucket::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  const Moment moment(now, bucket.head[kLast]);
  const std::int64_t debt = debt_at(allowance, bucket.head, moment);
  if (cost == 0 || debt == 0) return;
  write(allowance, bucket.head, moment, give_back(debt, cost, allowance.rate_ticks));
}

TimePoint TokenBucket::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  const std::int64_t debt = debt_at_last(allowance, bucket.head);
  return from_micros(clamp_tick(bucket.head[kLast]) + ticks_to_repay(debt, allowance.rate_units));
}

}  // namespace weir::algorithms
