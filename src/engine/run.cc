#include "engine/run.h"

#include <algorithm>

#include "engine/stages/quota_gate.h"

namespace weir::engine {

std::size_t place_without_quotas(std::span<const Charge> charges, std::size_t charge) {
  const auto before = charges.first(std::min(charge, charges.size()));
  return before.size() - static_cast<std::size_t>(std::count_if(before.begin(), before.end(), [](const Charge& each) {
           return each.kind == ChargeKind::quota;
         }));
}

// Where two checks disagree about the bucket's numbers, the smaller limit holds for both.
void CombinedCharges::add(const Check& check) {
  const std::size_t first = places_.size();
  for (const Charge& charge : check.charges()) {
    if (charge.kind == ChargeKind::quota) continue;
    const auto known = std::find_if(charges_.begin(), charges_.end(), [&](const Charge& other) {
      return other.key == charge.key && other.value == charge.value;
    });
    places_.push_back(static_cast<std::size_t>(known - charges_.begin()));
    if (known == charges_.end()) {
      charges_.push_back(charge);
      if (charge.kind == ChargeKind::penalty || charge.candidate) {
        const std::size_t place = places_[first + place_without_quotas(check.charges(), charge.of)];
        charges_.back().of = static_cast<std::uint8_t>(std::min(place, kMaxCharges));
      }
      continue;
    }
    known->cost = std::min(known->cost + charge.cost, charge.value == 0 ? kMaxUnits : 1);
    known->count_denied = known->count_denied || charge.count_denied;
    known->binding = known->binding || charge.binding;
    known->max_subjects = std::min(known->max_subjects, charge.max_subjects);
    if (charge.allowance->limit < known->allowance->limit) known->allowance = charge.allowance;
  }
}

void CombinedCharges::combine(std::span<const Check> checks) {
  charges_.clear();
  places_.clear();
  for (const Check& check : checks) add(check);
}

std::span<ChargeOutcome> CombinedCharges::outcomes() {
  outcomes_.resize(charges_.size());
  return outcomes_;
}

void CombinedCharges::hand_out(std::span<Check> checks) const {
  std::size_t place = 0;
  for (Check& check : checks) {
    for (std::size_t i = 0; i < check.charges().size(); ++i) {
      if (check.charges()[i].kind != ChargeKind::quota) check.outcomes()[i] = outcomes_[places_[place++]];
    }
  }
}

LastingRun::LastingRun() = default;
LastingRun::~LastingRun() = default;

void LastingRun::adopt_quotas() {
  if (std::none_of(checks.begin(), checks.end(), [](const Check& check) { return check.has_quotas(); })) return;
  own_quotas_ = std::make_unique<QuotaPart>(*this);
  // What the ledger refuses after the store was asked, the store has to take back, and must charge when it is asked
  // again.
  if (own_quotas_->has_strict()) once = {};
}

}  // namespace weir::engine
