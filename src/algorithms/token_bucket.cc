#include "algorithms/token_bucket.h"

namespace weir::algorithms {

void TokenBucket::write(const Allowance& allowance, Head head, const Moment& moment, std::int64_t debt) {
  const Division division = divide(debt, allowance.rate_ticks);
  head[kWhole] = division.quotient;
  head[kRest] = division.rest;
  head[kLast] = moment.time;
}

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
