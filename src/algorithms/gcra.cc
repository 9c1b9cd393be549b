#include "algorithms/gcra.h"

#include "algorithms/arrival_time.h"

namespace weir::algorithms {

ChargeOutcome Gcra::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                             std::int64_t cost) {
  const Moment moment(now, bucket.head[ArrivalTime::kLast]);
  const std::int64_t debt = ArrivalTime::debt_at(allowance, bucket.head, moment, burst_debt(allowance));
  return burst_outcome(allowance, moment, debt, cost);
}

void Gcra::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  if (cost == 0) return;
  const Moment moment(now, bucket.head[ArrivalTime::kLast]);
  const std::int64_t capacity = burst_debt(allowance);
  const std::int64_t debt = ArrivalTime::debt_at(allowance, bucket.head, moment, capacity);
  ArrivalTime::write(allowance, bucket.head, moment, borrow(debt, cost, allowance.rate_ticks, capacity));
}

void Gcra::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  charge(allowance, bucket, now, cost);
}

void Gcra::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  const Moment moment(now, bucket.head[ArrivalTime::kLast]);
  const std::int64_t debt = ArrivalTime::debt_at(allowance, bucket.head, moment, burst_debt(allowance));
  if (cost == 0 || debt == 0) return;
  ArrivalTime::write(allowance, bucket.head, moment, give_back(debt, cost, allowance.rate_ticks));
}

TimePoint Gcra::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  return ArrivalTime::idle_from(allowance, bucket.head, burst_debt(allowance));
}

}  // namespace weir::algorithms
