// Draws (weir/draw_step.h): one bucket, units in advance and units that were admitted before.
#include <algorithm>
#include <cassert>

#include "algorithms/draw.h"
#include "stores/memory/transaction.h"

namespace weir::memory {

bool Transaction::draw() {
  assert(size_ == 1 && is_bucket(0) && call_.draw != nullptr);
  DrawStep& step = *call_.draw;
  Entry& entry = entries_[0];
  const Allowance& allowance = *call_.charges[0].allowance;
  const TimePoint now = from_micros(entry.now_us);
  const std::int64_t cost = call_.charges[0].cost;
  ChargeOutcome& outcome = call_.outcomes[0];
  step.granted = 0;
  step.lasts = Duration{0};
  step.existed = entry.slot != nullptr;
  step.at = algorithms::bucket_time(allowance, words(0), now);
  const bool exceeds = algorithms::exceeds_floor(allowance, cost, step);
  outcome = evaluate(0, exceeds ? 0 : cost);
  const bool late = algorithms::late_counts(allowance, words(0), now, step);
  entry.charge = late || (outcome.admitted && cost > 0 && !exceeds);
  if (entry.charge && !all_ready() && !make_room()) return false;
  if (entry.charge) {
    const algorithms::BucketWords bucket = changing_words(0);
    if (entry.slot->has_holds()) entry.slot->holds().note(allowance, bucket, entry.now_us);
    if (late) {
      if (algorithms::charge_late(allowance, bucket, now, step)) {
        refresh_idle(0);
      } else {
        entry.shard->set_idle_from(*entry.slot, entry.idle_from_us);  // make_room() may have pinned it
      }
      outcome = evaluate(0, exceeds ? 0 : cost);
    }
    if (outcome.admitted && cost > 0 && !exceeds) {
      outcome = algorithms::draw(allowance, changing_words(0), now, cost, step);
      refresh_idle(0);
    }
  }
  if (exceeds) {
    outcome.admitted = false;
    outcome.too_large = true;
  }
  return true;
}

}  // namespace weir::memory
