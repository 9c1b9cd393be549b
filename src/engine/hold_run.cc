#include "engine/hold_run.h"

#include "weir/reservations.h"

namespace weir::engine {

std::string ttl_text(Duration ttl) { return std::to_string(ttl.count() / 1'000) + " ms"; }

std::string check_hold_ttl(Duration ttl) {
  if (ttl >= kMinHoldTtl && ttl <= kMaxHoldTtl) return {};
  return "ttl: is " + ttl_text(ttl) + ", expected " + ttl_text(kMinHoldTtl) + " to " + ttl_text(kMaxHoldTtl);
}

std::string check_hold_id(std::string_view id) {
  if (id.find('\0') != id.npos) return "id: must not contain NUL";
  if (id.size() <= kMaxHoldId) return {};
  return "id: has " + std::to_string(id.size()) + " bytes, expected at most " + std::to_string(kMaxHoldId);
}

std::string hex_text(const BucketKey& key) { return std::string(ReservationId(key)); }

void hold_to_charge(const HeldCharge& held, Charge& charge) {
  charge.key = held.key;
  charge.tag = held.tag;
  charge.allowance = &held.allowance;
  charge.rule = held.rule;
  charge.cost = held.cost;
  charge.binding = held.binding;
  charge.kind = held.kind;
}

void charge_to_hold(const Charge& charge, HeldCharge& held) {
  held.key = charge.key;
  held.tag = charge.tag;
  held.rule = charge.rule;
  held.cost = charge.cost;
  held.allowance = *charge.allowance;
  held.kind = charge.kind;
  held.binding = charge.binding;
  held.ordinal = charge.number - 1;  // 0: it has no number, and so no name here
}

void Engine::note_open(const HoldStep& step, TimePoint expires, const ActiveRules& rules) {
  const rules::SheddingClasses* const shedding = rules.set->shedding();
  if (shedding == nullptr || shedding->source().in_flight == 0 || !sheds_) return;
  if (step.state == HoldState::taken || step.state == HoldState::live) {
    shedder_->open_work().opened(step.id, expires);
  } else {
    shedder_->open_work().closed(step.id);
  }
}

void Engine::note_completed(const HoldHandle& handle, TimePoint at) {
  if (!adaptive_->used() || handle.taken == TimePoint{}) return;
  for (const HeldCharge& charge : handle.charges) {
    if (charge.kind == ChargeKind::lease) adaptive_->completed(charge.key, at - handle.taken, at);
  }
}

}  // namespace weir::engine
