// Token bucket: refills limit/window, holds at most burst. At most burst + rate·T in any time T.
//
// Head: the words of debt.h. GCRA makes the same decisions, so both names share this code; a bucket still belongs to
// the name it was made under, and a rule that changes it starts new buckets.
#pragma once

#include "algorithms/bucket.h"
#include "algorithms/debt.h"

namespace weir::algorithms {

struct TokenBucket {
  static ChargeOutcome evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                std::int64_t cost);
  static std::size_t tail_words_needed(const Allowance&, const ConstBucketWords&, TimePoint, std::int64_t) { return 0; }
  static void charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static bool take(const Allowance& allowance, Head head, TimePoint now, std::int64_t cost, ChargeOutcome& outcome,
                   TimePoint& idle_from);
  static void charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static bool refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static std::int64_t counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                              TimePoint since);
  static void give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint since,
                        std::int64_t units);
  static std::int64_t charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                    std::int64_t units);
  static TimePoint idle_from(const Allowance& allowance, const ConstBucketWords& bucket);
  static TimePoint last_change(const ConstBucketWords& bucket);
  static Duration move_back(const BucketWords& bucket, Duration by);

 private:
  // What a bucket with `debt` answers to `cost`, which is added to the debt if it fits.
  static void answer(const Allowance& allowance, Debt& debt, std::int64_t cost, ChargeOutcome& outcome) {
    outcome = ChargeOutcome{};
    if (cost > allowance.burst) {
      outcome.admitted = false;
      outcome.too_large = true;
    } else if (debt.whole() + cost <= allowance.burst) {
      debt.add(cost);
    } else if (cost > 0) {
      outcome.admitted = false;
      outcome.retry_after = debt.until_at_most(allowance, allowance.burst - cost);
    }
    outcome.remaining = std::max<std::int64_t>(0, allowance.burst - debt.whole());
    outcome.reset_after = debt.until_none(allowance);
  }
};

// The most common step of all, and so in the header: the debt is worked out once.
inline bool TokenBucket::take(const Allowance& allowance, Head head, TimePoint now, std::int64_t cost,
                              ChargeOutcome& outcome, TimePoint& idle_from) {
  Debt debt(allowance, head, now);
  answer(allowance, debt, cost, outcome);
  if (!outcome.admitted || cost == 0) return false;
  debt.write(allowance, head);
  idle_from = from_micros(debt.moment().now) + outcome.reset_after;
  return true;
}

}  // namespace weir::algorithms
