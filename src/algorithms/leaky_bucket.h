// Leaky bucket, which shapes traffic: requests leave one by one at limit/window, and an admitted one gets its `delay`.
// A request is denied when more than `queue` units are waiting before it.
//
// Head: the words of debt.h. The debt is the queue: an admitted request waits until it is repaid, then adds its own
// cost. A request of any cost may join while the wait is short enough, so that a cost above queue + 1 is too large and
// the debt stays within 2 * queue + 1 units. `remaining` counts the requests of cost 1 that would be admitted at once,
// one after the other. A cost of 0 takes no place in the queue and gets no delay.
//
// A denied attempt that counts fills the last place again: the debt becomes queue + 1 units, as if one more request
// had just joined. More would make the wait of the next caller longer than a full queue's.
#pragma once

#include "algorithms/bucket.h"

namespace weir::algorithms {

struct LeakyBucket {
  static ChargeOutcome evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                std::int64_t cost);
  static std::size_t tail_words_needed(const Allowance&, const ConstBucketWords&, TimePoint, std::int64_t) { return 0; }
  static void charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
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
};

}  // namespace weir::algorithms
