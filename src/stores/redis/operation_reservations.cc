// Reservations in an operation (scripts/reservations.lua).
//
// In one slot the script decides everything, in one call. A reservation in several slots has a part in each, and one of
// them has the record, which decides:
// - reserving charges all parts at the same time; where one denies or does not answer, or the record knows the id, what
//   this call has charged is undone;
// - extending reads the record, extends the other parts, then that of the record; where one denies, the others are
// undone;
// - closing asks the part of the record first. The others then do as it says, also when it was closed before: a closer
//   that has died in between is made up for by the next, and a part without the reservation does nothing twice;
// - `partial` first asks every part what it could grant.
#include <algorithm>

#include "stores/redis/operation.h"

namespace weir::redis {

Part& Operation::record_part() {
  for (std::size_t i = 0; i < used_; ++i) {
    if (parts_[i].record_) return parts_[i];
  }
  return parts_.front();
}

Operation::Stage Operation::first_stage() const {
  if (!reserves() || used_ == 1) return Stage::all;
  const bool takes = call_->action == Action::take || call_->action == Action::peek || call_->action == Action::renew;
  if (takes && step_.partial) return Stage::fit;
  return call_->action == Action::renew ? Stage::read : Stage::all;
}

ScriptAction Operation::reservation_action(const Part& part) const {
  switch (stage_) {
    case Stage::fit:
      return ScriptAction::peek;
    case Stage::read:
      return ScriptAction::list;
    case Stage::others:
      return ScriptAction::share_renewal;
    case Stage::follow:
      return follows_ ? ScriptAction::follow : ScriptAction::amend;
    case Stage::amend:
      return ScriptAction::amend;
    case Stage::record:
    case Stage::raise:
      return ScriptAction::renew;
    case Stage::all:
      break;
  }
  // With the record: what is known of the reservation. Other parts are only described.
  if (call_->action == Action::list && call_->hold->listed == nullptr && !part.record_) return ScriptAction::amend;
  return action();
}

// In the present stage.
bool Operation::takes_part(const Part& part) const {
  switch (stage_) {
    case Stage::fit:
      return true;
    case Stage::all:
      return used_ == 1 || call_->action != Action::settle || part.record_;
    case Stage::read:
    case Stage::record:
    case Stage::amend:
      return part.record_;
    case Stage::others:
    case Stage::follow:
      return !part.record_;
    case Stage::raise:
      return (part.has_units_ || part.record_) && part.hold_.token < step_.token;
  }
  return false;
}

void Operation::enter(Stage stage, SteadyTime now) {
  stage_ = stage;
  InlineVector<Part*, 8> asked;
  for (std::size_t i = 0; i < used_; ++i) {
    Part& part = parts_[i];
    part.asked_ = takes_part(part);
    if (!part.asked_) continue;
    part.answered_ = part.reloaded_ = false;
    part.attempts_ = 0;
    asked.push_back(&part);
  }
  under_way_ = asked.size();
  for (Part* const part : asked) part->send({}, now);
}

// True: the operation has entered its next stage.
bool Operation::go_on(SteadyTime now) {
  if (stage_ == Stage::amend) call_->status = Code::ok;  // it is closed all the same
  if (call_->status != Code::ok || used_ == 1) return false;
  switch (stage_) {
    case Stage::fit: {
      for (std::size_t i = 0; i < used_; ++i) step_.amount = std::min(step_.amount, parts_[i].hold_.granted);
      step_.partial = false;
      enter(call_->action == Action::renew ? Stage::read : Stage::all, now);
      return true;
    }
    case Stage::read: {
      const HoldAnswer& known = record_part().hold_;
      if (known.state != HoldState::live) return follow_record(now);
      step_.expires = from_micros(known.expires_us);
      enter(Stage::others, now);
      return true;
    }
    case Stage::others:
      if (denied() || finds(HoldState::gone)) return false;
      enter(Stage::record, now);
      return true;
    case Stage::all:
      if (call_->action == Action::take) return raise_token(now);
      return call_->action == Action::settle && follow_record(now);
    case Stage::follow: {
      if (!is_first_) return false;
      HoldAnswer& known = record_part().hold_;
      const HoldAnswer before = known;
      for (std::size_t i = 0; i < used_; ++i) {
        known.returned = std::max(known.returned, parts_[i].hold_.returned);
        known.debt = std::max(known.debt, parts_[i].hold_.debt);
        known.uncharged = std::max(known.uncharged, parts_[i].hold_.uncharged);
      }
      if (known.returned == before.returned && known.debt == before.debt && known.uncharged == before.uncharged) {
        return false;
      }
      step_.amount = known.returned;
      step_.actual = known.debt;
      step_.token = static_cast<std::uint64_t>(known.uncharged);
      enter(Stage::amend, now);
      return true;
    }
    case Stage::record:
    case Stage::amend:
    case Stage::raise:
      return false;
  }
  return false;
}

// After the record has answered: the other parts do as it says.
bool Operation::follow_record(SteadyTime now) {
  const HoldAnswer& known = record_part().hold_;
  const bool closed = known.reserved == ReservationState::committed || known.reserved == ReservationState::released;
  is_first_ = known.state == HoldState::ended;
  follows_ = closed && call_->action == Action::settle;
  step_.closing = closed ? known.reserved : step_.closing;
  step_.actual = known.actual;
  step_.amount = known.granted;
  step_.token = std::max(step_.token, known.token);
  enter(Stage::follow, now);
  return true;
}

bool Operation::raise_token(SteadyTime now) {
  if (denied() || record_part().hold_.state != HoldState::taken) return false;
  std::uint64_t largest = 0;
  bool behind = false;
  for (std::size_t i = 0; i < used_; ++i) largest = std::max(largest, parts_[i].hold_.token);
  for (std::size_t i = 0; i < used_; ++i) {
    behind = behind || ((parts_[i].has_units_ || parts_[i].record_) && parts_[i].hold_.token < largest);
  }
  if (!behind) return false;
  raising_ = true;
  step_.token = largest;
  step_.amount = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    step_.expires = std::max(step_.expires, from_micros(parts_[i].hold_.expires_us));
  }
  enter(Stage::raise, now);
  return true;
}

void Operation::undo_reservation(SteadyTime now) {
  const bool takes = call_->action == Action::take;
  if (used_ == 1 || (!takes && call_->action != Action::renew)) return;
  const bool failed = call_->status != Code::ok || denied();
  if (!failed && record_part().hold_.state == (takes ? HoldState::taken : HoldState::live) && !finds(HoldState::gone)) {
    return;
  }
  for (std::size_t i = 0; i < used_; ++i) {
    if (parts_[i].charged_) parts_[i].undo_reservation(now);
  }
}

// As Part::undo(): what is in `which` of it was charged by this call.
void Part::undo_reservation(SteadyTime now) {
  StoreCall& call = *operation_.call_;
  const bool takes = call.action == Action::take;
  HoldStep step = operation_.step_;
  step.token = hold_.token;
  if (takes) step.expires = TimePoint{};
  InlineVector<std::uint8_t, 8> taken;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const bool is_record = call.charges[which[i]].kind == ChargeKind::record;
    ChargeOutcome& outcome = call.outcomes[which[i]];
    if (!is_record && (!outcome.admitted || standing_[i].charged_at_us == 0)) continue;
    if (!is_record) {
      outcome.remaining = standing_[i].remaining;
      outcome.reset_after = Duration{standing_[i].reset_after_us};
    }
    taken.push_back(which[i]);
  }
  send_after({.action = ScriptAction::undo,
              .now_us = operation_.now_us(),
              .charges = call.charges,
              .which = {taken.data(), taken.size()},
              .hold = &step},
             now);
}

void Operation::report_reservation() {
  HoldStep& hold = *call_->hold;
  if (call_->action == Action::list && hold.listed != nullptr) return;
  const HoldAnswer& known = record_part().hold_;
  hold.at = from_micros(known.at_us);
  hold.granted = known.granted;
  if (call_->action == Action::peek) {
    for (std::size_t i = 0; i < used_; ++i) hold.granted = std::min(hold.granted, parts_[i].hold_.granted);
    return;
  }
  const bool takes = call_->action == Action::take || call_->action == Action::renew;
  const bool is_known =
      call_->action == Action::take && known.state != HoldState::taken && known.state != HoldState::none;
  hold.state = takes && !is_known && denied() ? HoldState::none : known.state;
  for (ChargeOutcome& outcome : call_->outcomes) {
    if (is_known) outcome.admitted = true;  // nothing was asked of it
  }
  hold.reserved = known.reserved;
  if (call_->action == Action::renew && finds(HoldState::gone)) {
    hold.state = HoldState::gone;
    if (hold.reserved == ReservationState::open) hold.reserved = ReservationState::expired;
  }
  hold.actual = known.actual;
  hold.returned = known.returned;
  hold.debt = known.debt;
  hold.uncharged = known.uncharged;
  const bool is_open = hold.reserved == ReservationState::open && known.expires_us > 0;
  if (is_open) hold.expires = from_micros(known.expires_us);
  if (is_open || hold.state == HoldState::ended) hold.token = std::max(hold.token, known.token);
}

}  // namespace weir::redis
