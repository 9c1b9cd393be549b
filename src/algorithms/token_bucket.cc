#include "algorithms/token_bucket.h"

namespace weir::algorithms {

ChargeOutcome TokenBucket::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                    std::int64_t cost) {
  Debt debt(allowance, bucket.head, now);
  ChargeOutcome outcome;
  answer(allowance, debt, cost, outcome);
  return outcome;
}

void TokenBucket::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  if (cost == 0) return;
  Debt debt(allowance, bucket.head, now);
  debt.add(cost);
  debt.write(allowance, bucket.head);
}

// A full debt, or more if other numbers have left more.
void TokenBucket::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t) {
  Debt debt(allowance, bucket.head, now);
  debt.raise_to(allowance.burst);
  debt.write(allowance, bucket.head);
}

bool TokenBucket::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  Debt debt(allowance, bucket.head, now);
  if (cost == 0 || debt.none()) return false;
  debt.give_back(cost);
  debt.write(allowance, bucket.head);
  return true;
}

std::int64_t TokenBucket::counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                  TimePoint) {
  return Debt(allowance, bucket.head, now).complete_units();
}

void TokenBucket::give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint,
                            std::int64_t units) {
  refund(allowance, bucket, now, units);
}

std::int64_t TokenBucket::charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                        std::int64_t units) {
  Debt debt(allowance, bucket.head, now);
  const std::int64_t charged = bounded(allowance.largest_cost() + allowance.overdraft - debt.whole(), units);
  if (charged == 0) return 0;
  debt.add(charged);
  debt.write(allowance, bucket.head);
  return charged;
}

TimePoint TokenBucket::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  return Debt::idle_from(allowance, bucket.head);
}

TimePoint TokenBucket::last_change(const ConstBucketWords& bucket) {
  return from_micros(DebtWords::read(bucket.head).last);
}

Duration TokenBucket::move_back(const BucketWords& bucket, Duration by) {
  DebtWords words = DebtWords::read(bucket.head);
  words.last -= by.count();
  words.write(bucket.head);
  return by;
}

}  // namespace weir::algorithms
