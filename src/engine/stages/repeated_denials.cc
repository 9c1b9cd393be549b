#include "engine/stages/repeated_denials.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace weir::engine {
namespace {

// The first moment at which one of the buckets could answer otherwise; none: the answer is not to be repeated.
std::optional<TimePoint> first_change(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes,
                                      TimePoint asked) {
  bool denied = false;
  TimePoint first = TimePoint::max();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Charge& charge = charges[i];
    const ChargeOutcome& outcome = outcomes[i];
    // A lease may be taken and released at any time; a reservation may be asked again under its id.
    if (charge.kind != ChargeKind::bucket && charge.kind != ChargeKind::penalty) return std::nullopt;
    if (outcome.status != Code::ok || charge.follows) return std::nullopt;
    if (outcome.admitted) {
      if (outcome.reset_after > Duration::zero()) first = std::min(first, asked + outcome.reset_after);
      continue;
    }
    if (outcome.retry_after <= Duration::zero() || !is_known_denial(charges, i, outcome)) return std::nullopt;
    denied = denied || charge.binding;
    first = std::min(first, asked + outcome.retry_after);
  }
  if (!denied) return std::nullopt;
  return first;
}

}  // namespace

// Keys are keyed hashes: their bits are spread already.
std::size_t RepeatedDenials::place_of(std::span<const Charge> charges) {
  std::uint64_t sum = 0;
  for (const Charge& charge : charges) {
    sum = std::rotl(sum, 7) ^ charge.key.low ^ static_cast<std::uint64_t>(charge.cost);
  }
  return static_cast<std::size_t>(sum & (kEntries - 1));
}

void RepeatedDenials::remember(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes,
                               const Moment& moment) {
  if (charges.size() > kMostCharges) return;
  const std::optional<TimePoint> until = first_change(charges, outcomes, moment.asked);
  if (!until) return;
  Entry& entry = entries_[place_of(charges)];
  entry.parts.clear();
  entry.asked = moment.asked;
  entry.until = *until;
  entry.trusted = moment.trusted;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Charge& charge = charges[i];
    if (charge.cost > 0) generations_.watch(charge.key, charge.cost);
    entry.parts.push_back(
        {charge.key, charge.cost, charge.value, generations_.of(charge.key), *charge.allowance, outcomes[i]});
  }
}

bool RepeatedDenials::is_same(const Part& part, const Charge& charge) const {
  return part.key == charge.key && part.cost == charge.cost && part.value == charge.value &&
         same_numbers(part.allowance, *charge.allowance) && part.generation == generations_.of(charge.key);
}

bool RepeatedDenials::repeat(std::span<const Charge> charges, std::span<ChargeOutcome> outcomes, TimePoint now,
                             TimePoint store_time) {
  const Entry& entry = entries_[place_of(charges)];
  if (entry.parts.size() != charges.size() || now >= entry.trusted) return false;
  if (store_time < entry.asked || store_time >= entry.until) return false;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!is_same(entry.parts[i], charges[i])) return false;
    // Whether it binds and counts may have changed with the rules.
    if (!entry.parts[i].outcome.admitted && !is_known_denial(charges, i, entry.parts[i].outcome)) return false;
  }
  const Duration passed = store_time - entry.asked;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    ChargeOutcome& outcome = outcomes[i];
    outcome = entry.parts[i].outcome;
    if (!outcome.admitted) outcome.retry_after -= passed;
    outcome.reset_after = std::max(outcome.reset_after - passed, outcome.retry_after);
  }
  return true;
}

}  // namespace weir::engine
