#include "engine/reservation_run.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weir::engine {
namespace {

constexpr std::string_view kReportInstead =
    "the reservation has expired or is no longer known; it has cost nothing, or under rules with on_expiry: commit "
    "what it held; report any further cost as usage (POST /v1/usage)";

bool is_unit_count(std::int64_t units) { return units >= 0 && units <= kMaxUnits; }

// Of two denials: one that no wait can help, then the longest wait. Of two others: the least that is left.
bool decides_before(const RuleOutcome& a, const RuleOutcome& b) {
  if (a.allowed != b.allowed) return !a.allowed;
  if (!a.allowed && a.too_large != b.too_large) return a.too_large;
  return a.allowed ? a.remaining < b.remaining : a.retry_after > b.retry_after;
}

Reason denial_reason(const RuleOutcome& denial) {
  if (denial.too_large && denial.limit > 0) return Reason::cost_too_large;
  if (denial.crowded) return Reason::too_many_reservations;
  return denial.kind == ChargeKind::lease ? Reason::concurrency_exceeded : Reason::limit_exceeded;
}

}  // namespace

// A handle may be of a reservation that the ledger has a part in, whatever the rules are now.
bool Engine::begin_reservation(ReservationCall& call) {
  const bool by_handle =
      call.question.verb != ReservationQuestion::Verb::reserve && call.question.verb != ReservationQuestion::Verb::list;
  return begin_hold<ReservationRun>(call, !immediate_ || (by_handle && quota_gate_ != nullptr));
}

bool Engine::ReservationRun::start() {
  step_.reservation = true;
  if (!check_question()) return true;
  if (verb_ == Verb::reserve) return reserve();
  return verb_ == Verb::list ? list() : use_handle();
}

std::string_view Engine::ReservationRun::change_name() const {
  if (verb_ == Verb::commit) return "weir.reservation.commit";
  if (verb_ == Verb::release) return "weir.reservation.release";
  return verb_ == Verb::extend ? "weir.reservation.extend" : "";
}

std::optional<HoldCounts::Call> Engine::ReservationRun::counted_as() const {
  switch (verb_) {
    case Verb::reserve:
      return HoldCounts::Call::reserve;
    case Verb::commit:
      return HoldCounts::Call::commit;
    case Verb::release:
      return HoldCounts::Call::release;
    case Verb::extend:
      return HoldCounts::Call::extend;
    case Verb::get:
    case Verb::list:
      break;
  }
  return std::nullopt;
}

// False: refused.
bool Engine::ReservationRun::check_question() {
  const ReservationQuestion& question = call_->question;
  const auto invalid = [&](std::string message) { return !refuse(HoldFault::invalid, std::move(message)); };
  if (question.amount && !is_unit_count(*question.amount)) {
    return invalid("amount: is " + std::to_string(*question.amount) + ", expected 0 to " + std::to_string(kMaxUnits));
  }
  if (verb_ == Verb::commit && !is_unit_count(question.actual)) {
    return invalid("actual: is " + std::to_string(question.actual) + ", expected 0 to " + std::to_string(kMaxUnits));
  }
  return check_ttl(question.ttl) && check_id(question.id);
}

[[gnu::hot]] bool Engine::ReservationRun::reserve() {
  const ReservationQuestion& question = call_->question;
  step_.id = question.id.empty() ? engine_.hold_ids_.of(HoldHandle::Use::reservation, question.request.once)
                                 : engine_.hold_ids_.named(HoldHandle::Use::reservation, question.caller, question.id,
                                                           question.request.attributes);
  if (!plan(question.dry_run ? Action::peek : Action::take)) return true;
  check_.drop_candidates();
  if (check_.charges().size() > kMaxHeldCharges) {
    return refuse(HoldFault::invalid, "attributes: more than " + std::to_string(kMaxHeldCharges) +
                                          " rules apply, the maximum for one reservation");
  }
  step_.ttl = question.ttl == Duration::zero() ? kDefaultReservationTtl : question.ttl;
  note_learning();
  const std::optional<std::int64_t> amount = question.amount ? question.amount : estimate();
  if (!amount) return refuse(HoldFault::invalid, "amount: is missing, and no rule that applies has an estimate");
  estimated_ = !question.amount;
  if (estimated_) call_->answer.estimated = *amount;
  step_.amount = *amount;
  step_.partial = question.partial;
  if (!question.id.empty() && !estimated_) step_.actual = step_.amount + 1;
  dry_run_ = question.dry_run;
  past_prefilter = question.partial || !question.id.empty() || once;
  check_.reserve(step_.amount, step_.id);
  carry(check_, dry_run_ ? Action::peek : Action::take, reading());
  adopt_quotas();
  return !reserve_quotas() || decide();
}

// The handle will say what to learn: the attributes are not there when it is settled.
void Engine::ReservationRun::note_learning() {
  for (std::size_t i = 0; i < check_.deciding(); ++i) {
    const Rule& rule = check_.match_of(i).rule->source;
    if (!rule.estimate) continue;
    learned_.resize(check_.charges().size());
    std::string_view value;
    for (const Attribute& attribute : call_->question.request.attributes) {
      if (attribute.name == rule.estimate->by) value = attribute.value;
    }
    learned_[i] = engine_.hold_ids_.learned_by(rule.id, value).value;
  }
}

// The largest estimate of the rules that apply, within the smallest share of a limit that one of them allows.
std::optional<std::int64_t> Engine::ReservationRun::estimate() {
  std::optional<std::int64_t> most;
  std::int64_t cap = kMaxUnits;
  for (std::size_t i = 0; i < check_.deciding(); ++i) {
    const Rule& rule = check_.match_of(i).rule->source;
    if (!rule.estimate) continue;
    const Estimates::Subject subject{learned_[i], engine_.hold_ids_.learned_by(rule.id, {}).rule};
    const std::int64_t own =
        engine_.estimates_->quantile(subject, rule.estimate->quantile).value_or(rule.estimate->initial);
    most = std::max(most.value_or(1), own);
    const std::int64_t limit = check_.charges()[i].allowance->largest_cost();
    cap = std::min(
        cap, std::max<std::int64_t>(1, limit / 100 * rule.estimate->most + limit % 100 * rule.estimate->most / 100));
  }
  if (most) most = std::min(*most, cap);
  return most;
}

// What the work has cost, of a reservation that this call has committed.
void Engine::ReservationRun::learn() {
  for (const HeldCharge& held : handle_.charges) {
    if (held.learned == BucketKey{}) continue;
    engine_.estimates_->learn({held.learned, engine_.hold_ids_.learned_by(held.rule, {}).rule}, step_.actual);
    if (handle_.estimated) engine_.estimates_->count_error(held.rule, step_.granted, step_.actual);
  }
}

[[gnu::hot]] bool Engine::ReservationRun::use_handle() {
  const ReservationQuestion& question = call_->question;
  if (!open_handle(HoldHandle::Use::reservation)) {
    return refuse(HoldFault::forged,
                  "reservation: not a handle of this service; use the one that the reserve call returned");
  }
  step_.id = handle_.id;
  step_.token = handle_.token;
  step_.ttl = question.ttl;
  step_.amount = question.amount.value_or(0);
  step_.partial = question.partial && step_.amount > 0;
  step_.actual = question.actual;
  if (verb_ == Verb::release) step_.closing = ReservationState::released;
  for (const HeldCharge& each : handle_.charges) {
    Charge& charge = own_charges_.append();
    hold_to_charge(each, charge);
    charge.follows = each.follows;
    if (each.follows && verb_ == Verb::extend) charge.cost = step_.amount;
  }
  const std::size_t held = own_charges_.size();
  Charge& record = own_charges_.append();
  make_record_charge(handle_.id, {own_charges_.data(), held}, record);
  if (handle_.record_tag != 0) record.tag.high = handle_.record_tag;
  action = Action::settle;
  if (verb_ == Verb::extend) {
    action = Action::renew;
    once = question.request.once;
  }
  if (verb_ == Verb::get) action = Action::list;
  return handle_.quota ? settle_quotas() : ask();
}

bool Engine::ReservationRun::list() {
  if (!plan(Action::list)) return true;
  for (std::size_t i = 0; i < check_.deciding(); ++i) {
    const Charge& charge = check_.charges()[i];
    if (charge.kind != ChargeKind::bucket || charge.value != 0) continue;
    own_charges_.push_back(charge);
    common_.push_back(check_.match_of(i).rule->source.per.empty());
  }
  // What reserving would charge now, for the handles.
  check_.drop_candidates();
  check_.reserve(0, {});
  step_.listed = &listed_;
  action = Action::list;
  return ask();
}

void Engine::ReservationRun::finish() {
  if (verb_ == Verb::reserve) return finish_reserve();
  if (quota_step_ != nullptr && !left_to_store_) return finish_with_quota();
  if (status != Code::ok) {
    refuse(HoldFault::unavailable, verb_ == Verb::extend
                                       ? "the store did not answer; whether the reservation was extended is not known"
                                       : "the store did not answer; try again: settling twice does no harm");
    return;
  }
  // What it had may be more than another node's prefilter knows.
  if (engine_.prefilter_ != nullptr && action == Action::settle) engine_.prefilter_->forget(charges);
  if (verb_ == Verb::list) return finish_list();
  if (verb_ != Verb::get) note_open();
  if (step_.state == HoldState::ended) engine_.note_completed(handle_, step_.at);
  tell_hold();
  describe_outcomes();
  if (verb_ == Verb::extend) return finish_extend();
  return verb_ == Verb::get ? finish_get() : finish_settle();
}

[[gnu::hot]] void Engine::ReservationRun::tell_hold() {
  ReservationAnswer& answer = call_->answer;
  answer.id = ReservationId(step_.id);
  answer.state = step_.reserved;
  answer.granted = step_.granted;
  answer.actual = step_.actual;
  answer.returned = step_.returned;
  answer.debt = step_.debt;
  answer.uncharged = step_.uncharged;
  // The store's clock may be another than this node's. By the time of asking, so that it lives at least that long.
  answer.expires = reading().wall() + (step_.expires - step_.at);
  if (std::any_of(charges.begin(), charges.end(), [](const Charge& each) { return each.kind == ChargeKind::lease; })) {
    answer.fencing_token = step_.token;
  }
}

void Engine::ReservationRun::finish_reserve() {
  ReservationAnswer& answer = call_->answer;
  if (step_.state == HoldState::gone) {
    refuse(HoldFault::gone,
           "id: its reservation is " + std::string(reservation_state_name(step_.reserved)) + "; use another id");
    return;
  }
  if (step_.state == HoldState::other || (quotas != nullptr && quotas->status == Code::already_exists)) {
    refuse(HoldFault::other_body, "id: its reservation has another amount; use the same amount, or another id");
    return;
  }
  if (!answer.decision.allowed) return;
  const bool stored = is_stored();
  // Without the store, or without room in it, nothing is held: what is granted is a promise of the failure policy.
  if (!stored && !dry_run_) {
    step_.granted = step_.amount;
    step_.expires = step_.at + step_.ttl;
    step_.token = 0;
  }
  if (dry_run_) step_.expires = step_.at + step_.ttl;
  if (stored) note_open();
  tell_hold();
  if (!stored) answer.fencing_token.reset();
  // The store may have lost it, and the ledger not.
  const bool was_held = quotas != nullptr && quotas->replayed;
  if (was_held) answer.expires = std::min(answer.expires, quotas->expires);
  answer.created = step_.state != HoldState::live && !was_held && !dry_run_;
  if (!dry_run_) make_handle();
}

[[gnu::hot]] void Engine::ReservationRun::make_handle() {
  handle_.use = HoldHandle::Use::reservation;
  handle_.id = step_.id;
  handle_.token = step_.token;
  handle_.ttl = step_.ttl;
  handle_.expires = step_.expires;
  if (step_.state == HoldState::taken && check_.may_have_auto_limits()) handle_.taken = step_.at;
  handle_.estimated = estimated_;
  const bool fits_all = step_.state == HoldState::live;  // of a known one, which charges it has is not known
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Charge& from = charges[i];
    if (from.kind == ChargeKind::record) handle_.record_tag = from.tag.high;
    if (from.kind == ChargeKind::record || (!fits_all && !outcomes[i].admitted)) continue;
    if ((!from.follows && from.cost == 0) || from.value != 0) continue;  // a value stays counted
    HeldCharge& held = handle_.charges.append();
    charge_to_hold(from, held);
    if (from.follows) held.cost = 0;
    held.follows = from.follows;
    if (i < learned_.size()) held.learned = learned_[i];
  }
  call_->answer.handle = engine_.hold_ids_.seal(handle_);
}

void Engine::ReservationRun::finish_settle() {
  ReservationAnswer& answer = call_->answer;
  const ReservationState wanted = verb_ == Verb::commit ? ReservationState::committed : ReservationState::released;
  if (step_.state == HoldState::ended) {
    engine_.uncharged_units_.fetch_add(static_cast<std::uint64_t>(step_.uncharged), std::memory_order_relaxed);
    if (wanted == ReservationState::committed) learn();
    return;
  }
  if (step_.reserved == wanted) {
    answer.replayed = true;
    return;
  }
  if (step_.reserved == ReservationState::expired) {
    refuse(HoldFault::gone, std::string(kReportInstead));
    return;
  }
  refuse(HoldFault::closed, "the reservation was " + std::string(reservation_state_name(step_.reserved)) +
                                " by another call; nothing has changed");
}

void Engine::ReservationRun::finish_extend() {
  if (step_.state != HoldState::gone) return;
  if (step_.reserved == ReservationState::expired) {
    refuse(HoldFault::gone, "the reservation has expired or is no longer known; make another one");
    return;
  }
  refuse(HoldFault::closed, "the reservation was " + std::string(reservation_state_name(step_.reserved)) +
                                " by another call; make another one");
}

void Engine::ReservationRun::finish_get() {
  if (step_.state == HoldState::none) {
    refuse(HoldFault::gone, "the reservation ended too long ago: its result is no longer known");
  }
  if (step_.reserved != ReservationState::expired) return;
  // Its buckets give back what it held when they are next read.
  for (const HeldCharge& held : handle_.charges) {
    if (held.kind != ChargeKind::bucket || held.allowance.charges_lapsed) continue;
    call_->answer.returned = std::max(call_->answer.returned, held.follows ? step_.granted : held.cost);
  }
}

void Engine::ReservationRun::describe_outcome(std::size_t charge, RuleOutcome& outcome) const {
  const Charge& from = charges[charge];
  const ChargeOutcome& told = outcomes[charge];
  if (from.kind != ChargeKind::lease) outcome.capacity = from.allowance->largest_cost();
  if (from.kind == ChargeKind::bucket) {
    outcome.algorithm = from.allowance->algorithm;
    outcome.window = from.allowance->window;
  }
  if (from.follows && verb_ == Verb::commit) outcome.cost = step_.actual;
  outcome.allowed = told.admitted;
  outcome.too_large = told.too_large;
  outcome.crowded = told.crowded;
  outcome.retry_after = told.retry_after;
}

[[gnu::hot]] void Engine::ReservationRun::describe_outcomes() {
  Decision& decision = call_->answer.decision;
  decision.reason = Reason::ok;
  decision.source = engine_.source_;
  decision.atomic = atomic;
  decision.at = engine_.immediate_ ? reading().wall() : engine_.clock_->wall();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (charges[i].kind == ChargeKind::record) continue;
    const auto at = static_cast<std::int32_t>(decision.rules.size());
    RuleOutcome* const outcome = describe_rule(i);
    if (outcome == nullptr) continue;
    describe_outcome(i, *outcome);
    if (!charges[i].binding) continue;
    if (decision.deciding < 0 || decides_before(*outcome, *decision.decisive())) decision.deciding = at;
  }
  const RuleOutcome* const decisive = decision.decisive();
  if (decisive == nullptr) return;
  decision.cost = decisive->cost;
  if (decisive->allowed) return;
  decision.allowed = false;
  decision.reason = denial_reason(*decisive);
  decision.retry_after = decisive->retry_after;
}

// One line for each bucket and reservation, with what was added to it later.
void Engine::ReservationRun::finish_list() {
  ReservationAnswer& answer = call_->answer;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> places;
  std::map<std::string, std::string> handles;  // by id, of those that are of this subject
  const bool all_common = std::all_of(common_.begin(), common_.end(), [](bool common) { return common; });
  for (const ListedHold& each : listed_) {
    if (all_common || !common_[each.charge]) handles.try_emplace(hex_text(each.id));
  }
  for (const ListedHold& each : listed_) {
    const std::string id = hex_text(each.id);
    const auto [place, added] = places.try_emplace({each.charge, id}, answer.list.size());
    if (!added && place->second < answer.list.size()) {
      answer.list[place->second].units += each.units;
      continue;
    }
    if (answer.list.size() == kMaxListed) {
      answer.list_cut = true;
      continue;
    }
    const auto handle = handles.find(id);
    if (handle != handles.end() && handle->second.empty()) handle->second = listed_handle(each);
    answer.list.push_back({.rule = std::string(charges[each.charge].rule),
                           .id = id,
                           .handle = handle == handles.end() ? std::string() : handle->second,
                           .units = each.units,
                           .reserved = reading().wall() + (each.reserved - step_.at),
                           .expires = reading().wall() + (each.expires - step_.at)});
  }
}

// With every charge that reserving would make now: ending one that the reservation has no part in does nothing.
std::string Engine::ReservationRun::listed_handle(const ListedHold& of) {
  HoldHandle handle;
  handle.use = HoldHandle::Use::reservation;
  handle.id = of.id;
  handle.ttl = of.expires - of.reserved;
  handle.expires = of.expires;
  for (const Charge& from : check_.charges()) {
    if (from.kind == ChargeKind::record) handle.record_tag = from.tag.high;
    if (from.kind == ChargeKind::quota) handle.quota = true;
    if ((from.kind != ChargeKind::bucket && from.kind != ChargeKind::lease) || from.value != 0) continue;
    if (!from.follows && from.cost == 0) continue;
    if (handle.charges.size() == kMaxHeldCharges) return {};
    HeldCharge& held = handle.charges.append();
    charge_to_hold(from, held);
    held.follows = from.follows;
  }
  return engine_.hold_ids_.seal(handle);
}

}  // namespace weir::engine
