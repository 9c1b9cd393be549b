// Leaky bucket (R7), which shapes: requests leave one by one at limit/window, and an admitted one is told its `delay`.
// A request is denied when it would wait longer than `queue` units take.
//
// Head: the words of arrival_time.h. The debt is the queue: an admitted request waits until it is repaid, then adds
// its own cost. Since a request of any cost may join while the wait is short enough, a cost above queue + 1 is too
// large, and the debt stays within 2 * queue + 1 units. `remaining` counts the requests of cost 1 that would be
// admitted at once, one after the other. A cost of 0 takes no place in the queue and gets no delay.
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
  static void refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static TimePoint idle_from(const Allowance& allowance, const ConstBucketWords& bucket);
};

}  // namespace weir::algorithms
