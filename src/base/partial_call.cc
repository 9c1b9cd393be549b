#include "base/partial_call.h"

namespace weir::base {

void PartialCall::take_over(const StoreCall& whole, std::uint64_t covered) {
  places_.clear();
  charges_.clear();
  outcomes_.clear();
  InlineVector<std::uint8_t, 8> place_here;  // of each charge of the whole call
  for (std::size_t i = 0; i < whole.charges.size(); ++i) {
    place_here.push_back(static_cast<std::uint8_t>(charges_.size()));
    if ((covered >> i & 1U) != 0) continue;
    Charge& charge = charges_.append();
    charge = whole.charges[i];
    // What belongs to another charge follows it; what decorators answer themselves has no such charges.
    if (charge.kind == ChargeKind::penalty || charge.candidate) charge.of = place_here[charge.of];
    places_.push_back(static_cast<std::uint8_t>(i));
    outcomes_.append();
  }
  action = whole.action;
  set_reading(whole.reading());
  ingress = whole.ingress;
  charges = {charges_.data(), charges_.size()};
  outcomes = {outcomes_.data(), outcomes_.size()};
  status = Code::ok;
  atomic = true;
  answered = Consistency::exact;
  regional = false;
}

bool PartialCall::hand_back(StoreCall& whole) const {
  bool admitted = status == Code::ok;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const ChargeOutcome& outcome = outcomes[i];
    whole.outcomes[places_[i]] = outcome;
    admitted = admitted && outcome.status == Code::ok && (outcome.admitted || !charges[i].binding);
  }
  whole.status = status;
  whole.atomic = atomic;
  whole.answered = answered;
  whole.regional = regional;
  return admitted;
}

}  // namespace weir::base
