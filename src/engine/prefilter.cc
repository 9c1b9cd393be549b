#include "engine/prefilter.h"

#include <algorithm>

namespace weir::engine {
namespace {

// A shadow rule's denial decides nothing. One that counts must reach the store, unless there is nothing left to count:
// what a fixed window has given out stays so until its end, where other buckets refill in between.
bool decides_without_store(const Charge& charge, std::int64_t remaining) {
  if (!charge.binding) return false;
  return !charge.count_denied || (remaining == 0 && charge.allowance->algorithm == Algorithm::fixed_window);
}

}  // namespace

Prefilter::Prefilter() : entries_(kEntries) {}

std::optional<Prefilter::Hit> Prefilter::find(std::span<const Charge> charges, TimePoint now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Charge& charge = charges[i];
    const Entry& entry = entry_of(charge.key);
    if (!decides_without_store(charge, entry.remaining)) continue;
    const Allowance& allowance = *charge.allowance;
    const bool same = entry.key == charge.key && entry.limit == allowance.limit && entry.burst == allowance.burst &&
                      entry.queue == allowance.queue && entry.window == allowance.window;
    if (!same || charge.cost != entry.cost) continue;
    if (now >= entry.until || now >= entry.trusted) continue;
    ++hits_;
    Hit hit;
    hit.charge = i;
    hit.outcome.admitted = false;
    hit.outcome.remaining = entry.remaining;
    hit.outcome.retry_after = entry.until - now;
    hit.outcome.reset_after = std::max(entry.reset_at - now, hit.outcome.retry_after);
    return hit;
  }
  return std::nullopt;
}

void Prefilter::remember(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes, TimePoint sent) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const ChargeOutcome& outcome = outcomes[i];
    const Charge& charge = charges[i];
    // A smaller cost was admitted: what is remembered of a larger one is still denied, but its wait has grown.
    if (outcome.admitted && charge.cost > 0) forget(charges.subspan(i, 1));
    if (outcome.admitted || outcome.status != Code::ok || outcome.retry_after <= Duration::zero()) continue;
    if (!decides_without_store(charge, outcome.remaining)) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry& entry = entry_of(charge.key);
    entry.key = charge.key;
    entry.cost = charge.cost;
    entry.until = sent + outcome.retry_after;
    entry.trusted = sent + kMaxHold;
    entry.reset_at = sent + outcome.reset_after;
    entry.remaining = outcome.remaining;
    entry.limit = charge.allowance->limit;
    entry.burst = charge.allowance->burst;
    entry.queue = charge.allowance->queue;
    entry.window = charge.allowance->window;
  }
}

void Prefilter::forget(std::span<const Charge> charges) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Charge& charge : charges) {
    Entry& entry = entry_of(charge.key);
    if (entry.key == charge.key) entry = Entry{};
  }
}

std::uint64_t Prefilter::hits() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return hits_;
}

}  // namespace weir::engine
