#include "engine/ad_hoc.h"

#include "engine/engine.h"

#include "weir/request.h"

namespace weir::engine {

using keys::KeyEncoder;
using keys::SipHash;

Charge make_ad_hoc_charge(const AdHocCharge& from, const Allowance& allowance, const KeyEncoder& encoder) {
  SipHash hash = encoder.seed(from.space, allowance.algorithm);
  for (const std::string_view part : from.subject) KeyEncoder::add_value(hash, part);
  Charge charge;
  charge.key = hash.finish();
  charge.tag = charge.key;
  charge.allowance = &allowance;
  charge.rule = from.space;
  charge.cost = from.cost.units;
  charge.count_denied = from.count_denied;
  return charge;
}

bool is_within_bounds(const AdHocCharge& charge) {
  return charge.allowance != nullptr && charge.subject.size() <= kMaxAttributes && charge.cost.units >= 0 &&
         charge.cost.units <= kMaxUnits;
}

ChargeOutcome refused_charge() {
  ChargeOutcome outcome;
  outcome.status = Code::invalid_argument;
  outcome.admitted = false;
  return outcome;
}

void Engine::charge_at_once(const AdHocCharge& charge, const Reading& at, ChargeOutcome& outcome) {
  Check check;
  if (!plan(charge, charge.allowance, check, outcome)) return;
  InlineRun run;
  run.carry(check, charge.action, at);
  run.ad_hoc = {&outcome, 1};
  decide(run);
}

}  // namespace weir::engine
