#include "algorithms/leaky_bucket.h"

#include "algorithms/debt.h"

namespace weir::algorithms {

ChargeOutcome LeakyBucket::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                    std::int64_t cost) {
  ChargeOutcome outcome;
  Debt debt(allowance, bucket.head, now);
  if (cost > allowance.queue + 1) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else if (cost > 0 && debt.whole() > allowance.queue) {
    outcome.admitted = false;
    outcome.retry_after = debt.until_at_most(allowance, allowance.queue);
  } else if (cost > 0) {
    // By the bucket's time, not the caller's: a request does not wait longer because its clock is behind.
    outcome.delay = debt.repaid_in(allowance);
    debt.add(cost);
  }
  outcome.remaining = std::max<std::int64_t>(0, allowance.queue + 1 - debt.whole());
  outcome.reset_after = debt.until_none(allowance);
  return outcome;
}

void LeakyBucket::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  if (cost == 0) return;
  Debt debt(allowance, bucket.head, now);
  debt.add(cost);
  debt.write(allowance, bucket.head);
}

void LeakyBucket::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t) {
  Debt debt(allowance, bucket.head, now);
  debt.raise_to(allowance.queue + 1);
  debt.write(allowance, bucket.head);
}

bool LeakyBucket::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  Debt debt(allowance, bucket.head, now);
  if (cost == 0 || debt.none()) return false;
  debt.give_back(cost);
  debt.write(allowance, bucket.head);
  return true;
}

std::int64_t LeakyBucket::counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                  TimePoint) {
  return Debt(allowance, bucket.head, now).complete_units();
}

void LeakyBucket::give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint,
                            std::int64_t units) {
  refund(allowance, bucket, now, units);
}

std::int64_t LeakyBucket::charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                        std::int64_t units) {
  Debt debt(allowance, bucket.head, now);
  const std::int64_t charged = bounded(allowance.largest_cost() + allowance.overdraft - debt.whole(), units);
  if (charged == 0) return 0;
  debt.add(charged);
  debt.write(allowance, bucket.head);
  return charged;
}

TimePoint LeakyBucket::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  return Debt::idle_from(allowance, bucket.head);
}

TimePoint LeakyBucket::last_change(const ConstBucketWords& bucket) {
  return from_micros(DebtWords::read(bucket.head).last);
}

Duration LeakyBucket::move_back(const BucketWords& bucket, Duration by) {
  DebtWords words = DebtWords::read(bucket.head);
  words.last -= by.count();
  words.write(bucket.head);
  return by;
}

}  // namespace weir::algorithms
