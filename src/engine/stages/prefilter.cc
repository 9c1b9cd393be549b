#include "engine/stages/prefilter.h"

#include <algorithm>
#include <utility>

namespace weir::engine {
namespace {

// A denial that counts must reach the store, unless there is nothing left to count: what a fixed window has given out
// stays so until its end, where other buckets refill in between. So must one that is a strike (weir/penalty.h), and one
// by a penalty is none.
bool decides_without_store(const Charge& charge, std::int64_t remaining, bool penalized) {
  // A lease may be released at any time, and a reservation asked again under its id.
  if (charge.kind != ChargeKind::bucket || charge.follows) return false;
  if (charge.penalty != nullptr) return penalized;
  // One value may be denied while another, which has been counted, is admitted.
  if (charge.value != 0) return false;
  return !charge.count_denied || (remaining == 0 && charge.allowance->algorithm == Algorithm::fixed_window);
}

bool denies_call(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (charges[i].binding && !outcomes[i].admitted) return true;
  }
  return false;
}

// What the bucket denies, the candidate may admit and charge. They are the last charges.
bool has_candidate(std::span<const Charge> charges, std::size_t of) {
  for (std::size_t i = charges.size(); i > 0 && charges[i - 1].candidate; --i) {
    if (charges[i - 1].of == of) return true;
  }
  return false;
}

}  // namespace

bool is_known_denial(std::span<const Charge> charges, std::size_t charge, const ChargeOutcome& outcome) {
  if (outcome.crowded) return false;  // says nothing about plain checks
  return decides_without_store(charges[charge], outcome.remaining, outcome.penalized) &&
         (outcome.penalized || !has_candidate(charges, charge));
}

// The key tells rules and algorithms apart, so these are the numbers that can differ. `buckets` can by a reload.
bool same_numbers(const Allowance& a, const Allowance& b) {
  return a.limit == b.limit && a.window == b.window && a.burst == b.burst && a.queue == b.queue &&
         a.buckets == b.buckets;
}

Prefilter::Prefilter(std::shared_ptr<BucketGenerations> generations)
    : generations_(std::move(generations)), entries_(kEntries), repeated_(*generations_) {}

bool Prefilter::is_believed(const Entry& entry, const Charge& charge, TimePoint now, Duration skew) const {
  return entry.key == charge.key && (entry.penalized || entry.cost == charge.cost) && now + skew < entry.until &&
         now < entry.trusted && same_numbers(entry.allowance, *charge.allowance) && charge.binding &&
         decides_without_store(charge, entry.remaining, entry.penalized) &&
         entry.generation == generations_->of(charge.key);
}

bool Prefilter::repeat(std::span<const Charge> charges, std::span<ChargeOutcome> outcomes, TimePoint now,
                       Duration skew) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (charges.size() != 1) {
    const bool known = repeated_.repeat(charges, outcomes, now, now + skew);
    hits_ += known ? 1 : 0;
    return known;
  }
  const std::optional<Hit> hit = find(charges, now, skew);
  if (hit) outcomes.front() = hit->outcome;
  return hit.has_value();
}

std::optional<Prefilter::Hit> Prefilter::find_one(std::span<const Charge> charges, TimePoint now, Duration skew) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return find(charges, now, skew);
}

// With the lock held.
std::optional<Prefilter::Hit> Prefilter::find(std::span<const Charge> charges, TimePoint now, Duration skew) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Entry& entry = entry_of(charges[i].key);
    if (!is_believed(entry, charges[i], now, skew)) continue;
    if (!entry.penalized && has_candidate(charges, i)) continue;
    ++hits_;
    Hit hit;
    hit.charge = i;
    hit.outcome.admitted = false;
    hit.outcome.remaining = entry.remaining;
    hit.outcome.penalized = entry.penalized;
    hit.outcome.challenge = entry.challenge;
    hit.outcome.retry_after = entry.until - now - skew;
    hit.outcome.reset_after = std::max(entry.reset_at - now - skew, hit.outcome.retry_after);
    return hit;
  }
  return std::nullopt;
}

void Prefilter::remember(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes, const Stamp& asked) {
  InlineVector<std::uint32_t, 8> generations;
  std::uint64_t sum = 0;
  for (const Charge& charge : charges) {
    generations.push_back(generations_->of(charge.key));
    sum += generations[generations.size() - 1];
  }
  const bool denied = denies_call(charges, outcomes);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const ChargeOutcome& outcome = outcomes[i];
    const Charge& charge = charges[i];
    const bool written = outcome.admitted ? !denied : charge.count_denied;
    if (written && charge.cost > 0) generations_->note_left(charge.key, outcome.admitted ? outcome.remaining : 0);
    // A smaller cost was admitted: what is remembered of a larger one is still denied, but its wait has grown.
    if (outcome.admitted && charge.cost > 0) forget_here(charge);
    if (outcome.admitted || outcome.status != Code::ok || outcome.retry_after <= Duration::zero()) continue;
    if (outcome.crowded) continue;  // says nothing about plain checks
    // A refund came while the answer was on its way, which may be older than it.
    if (sum != asked.generations || !charge.binding ||
        !decides_without_store(charge, outcome.remaining, outcome.penalized))
      continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry& entry = entry_of(charge.key);
    entry.key = charge.key;
    entry.cost = charge.cost;
    entry.until = asked.sent + asked.skew + outcome.retry_after;
    entry.trusted = asked.sent + kMaxHold;
    entry.generation = generations[i];
    entry.reset_at = asked.sent + asked.skew + outcome.reset_after;
    entry.remaining = outcome.remaining;
    entry.penalized = outcome.penalized;
    entry.challenge = outcome.challenge;
    entry.allowance = *charge.allowance;
  }
  if (!denied || charges.size() == 1 || sum != asked.generations) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  repeated_.remember(charges, outcomes, {asked.sent + asked.skew, asked.sent + kMaxHold});
}

void Prefilter::forget(std::span<const Charge> charges) {
  for (const Charge& charge : charges) generations_->advance(charge.key);
}

void Prefilter::forget_here(const Charge& charge) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entry_of(charge.key);
  if (entry.key == charge.key) entry = Entry{};
}

std::uint64_t Prefilter::hits() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return hits_;
}

}  // namespace weir::engine
