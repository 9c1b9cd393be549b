#include "algorithms/leaky_bucket.h"

#include "algorithms/arrival_time.h"

namespace weir::algorithms {
namespace {

std::int64_t queue_debt(const Allowance& allowance) { return allowance.queue * allowance.rate_ticks; }

// The most a bucket can owe: a full queue, then the largest cost.
std::int64_t most_debt(const Allowance& allowance) { return (2 * allowance.queue + 1) * allowance.rate_ticks; }

std::int64_t debt_at(const Allowance& allowance, ConstHead head, const Moment& moment) {
  return ArrivalTime::debt_at(allowance, head, moment, most_debt(allowance));
}

void take(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost, std::int64_t most) {
  if (cost == 0) return;
  const Moment moment(now, bucket.head[ArrivalTime::kLast]);
  const std::int64_t debt = debt_at(allowance, bucket.head, moment);
  ArrivalTime::write(allowance, bucket.head, moment, borrow(debt, cost, allowance.rate_ticks, most));
}

}  // namespace

ChargeOutcome LeakyBucket::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                    std::int64_t cost) {
  ChargeOutcome outcome;
  const Moment moment(now, bucket.head[ArrivalTime::kLast]);
  const std::int64_t bound = queue_debt(allowance);
  std::int64_t debt = debt_at(allowance, bucket.head, moment);
  if (cost > allowance.queue + 1) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else if (cost > 0 && debt > bound) {
    outcome.admitted = false;
    outcome.retry_after = moment.until(moment.time + ticks_to_repay(debt - bound, allowance.rate_units));
  } else if (cost > 0) {
    outcome.delay = Duration{ticks_to_repay(debt, allowance.rate_units)};
    debt += cost * allowance.rate_ticks;
  }
  if (debt <= bound) outcome.remaining = divide(bound - debt, allowance.rate_ticks).quotient + 1;
  if (debt > 0) outcome.reset_after = moment.until(moment.time + ticks_to_repay(debt, allowance.rate_units));
  return outcome;
}

void LeakyBucket::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  take(allowance, bucket, now, cost, most_debt(allowance));
}

void LeakyBucket::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                std::int64_t cost) {
  take(allowance, bucket, now, cost, queue_debt(allowance) + allowance.rate_ticks);
}

void LeakyBucket::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  const Moment moment(now, bucket.head[ArrivalTime::kLast]);
  const std::int64_t debt = debt_at(allowance, bucket.head, moment);
  if (cost == 0 || debt == 0) return;
  ArrivalTime::write(allowance, bucket.head, moment, give_back(debt, cost, allowance.rate_ticks));
}

TimePoint LeakyBucket::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  return ArrivalTime::idle_from(allowance, bucket.head, most_debt(allowance));
}

}  // namespace weir::algorithms
