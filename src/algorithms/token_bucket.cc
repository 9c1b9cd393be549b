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
