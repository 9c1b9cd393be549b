#include "engine/lease_run.h"

#include <algorithm>
#include <utility>

namespace weir::engine {
namespace {

constexpr Duration kTtlWithoutRule = std::chrono::seconds(60);

bool is_lease(const Charge& charge) { return charge.kind == ChargeKind::lease; }

}  // namespace

bool Engine::begin_lease(LeaseCall& call) { return begin_hold<LeaseRun>(call, !immediate_); }

bool Engine::LeaseRun::start() {
  switch (verb_) {
    case Verb::acquire:
      return acquire();
    case Verb::renew:
    case Verb::release:
      return use_handle();
    case Verb::list:
      return list();
  }
  return true;
}

std::string_view Engine::LeaseRun::change_name() const {
  if (verb_ == Verb::renew) return "weir.lease.renew";
  return verb_ == Verb::release ? "weir.lease.release" : "";
}

std::optional<HoldCounts::Call> Engine::LeaseRun::counted_as() const {
  switch (verb_) {
    case Verb::acquire:
      return HoldCounts::Call::acquire;
    case Verb::renew:
      return HoldCounts::Call::renew;
    case Verb::release:
      return HoldCounts::Call::release_lease;
    case Verb::list:
      break;
  }
  return std::nullopt;
}

Duration Engine::LeaseRun::shortest_lease() const {
  Duration shortest = kMaxHoldTtl;
  bool any = false;
  for (const Charge& charge : check_.charges()) {
    if (!is_lease(charge)) continue;
    shortest = std::min(shortest, charge.allowance->window);
    any = true;
  }
  return any ? shortest : kTtlWithoutRule;
}

[[gnu::hot]] bool Engine::LeaseRun::acquire() {
  const LeaseQuestion& question = call_->question;
  if (!check_ttl(question.ttl) || !check_id(question.id) || !plan(Action::take)) return true;
  check_.drop_candidates();
  if (std::count_if(check_.charges().begin(), check_.charges().end(), is_lease) > std::ptrdiff_t{kMaxHeldCharges}) {
    return refuse(HoldFault::invalid, "attributes: more than " + std::to_string(kMaxHeldCharges) +
                                          " concurrency rules apply, the maximum for one lease");
  }
  carry(check_, Action::take, reading());
  adopt_quotas();
  step_.ttl = question.ttl == Duration::zero() ? shortest_lease() : question.ttl;
  step_.named = !question.id.empty();
  past_prefilter = step_.named || once;
  step_.id = step_.named ? engine_.hold_ids_.named(HoldHandle::Use::lease, question.caller, question.id,
                                                   question.request.attributes)
                         : engine_.hold_ids_.of(HoldHandle::Use::lease, once);
  return decide();
}

[[gnu::hot]] bool Engine::LeaseRun::use_handle() {
  const LeaseQuestion& question = call_->question;
  if (!check_ttl(question.ttl)) return true;
  if (!open_handle(HoldHandle::Use::lease)) {
    return refuse(HoldFault::forged, "lease: not a handle of this service; acquire a lease and use the one it returns");
  }
  step_.id = handle_.id;
  step_.named = handle_.named;
  step_.token = handle_.token;
  step_.expires = handle_.expires;
  step_.ttl = question.ttl == Duration::zero() ? handle_.ttl : question.ttl;
  for (HeldCharge& each : handle_.charges) {
    // A lease that the store has lost takes a slot by today's rules, as far as they can be known without the request.
    if (verb_ == Verb::renew && each.kind == ChargeKind::lease) {
      each.allowance.limit = rules_->set->lease_limit(each.rule).value_or(each.allowance.limit);
    }
    hold_to_charge(each, own_charges_.append());
  }
  action = verb_ == Verb::renew ? Action::renew : Action::settle;
  return ask();
}

bool Engine::LeaseRun::list() {
  if (!plan(Action::list)) return true;
  for (const Charge& charge : check_.charges()) {
    if (is_lease(charge)) own_charges_.push_back(charge);
  }
  step_.listed = &listed_;
  action = Action::list;
  return ask();
}

void Engine::LeaseRun::finish() {
  if (verb_ == Verb::acquire) return finish_acquire();
  if (status != Code::ok) {
    refuse(HoldFault::unavailable, "the store did not answer; try again: renewing and releasing twice does no harm");
    return;
  }
  if (verb_ != Verb::list) note_open();
  if (step_.state == HoldState::ended) engine_.note_completed(handle_, step_.at);
  if (verb_ == Verb::renew) finish_renew();
  if (verb_ == Verb::list) finish_list();
}

[[gnu::hot]] void Engine::LeaseRun::finish_acquire() {
  LeaseAnswer& answer = call_->answer;
  if (step_.state == HoldState::gone) {
    refuse(HoldFault::gone, "id: its lease was released or has expired; use another id");
    return;
  }
  if (step_.state == HoldState::other) {
    refuse(HoldFault::other_body, "id: its lease has another cost; use the same cost, or another id");
    return;
  }
  if (!answer.decision.allowed) return;
  // Without the store, or without room in it, nothing is held: the lease is only a promise of the failure policy.
  const bool stored = is_stored();
  handle_.id = step_.id;
  handle_.named = step_.named;
  handle_.ttl = step_.ttl;
  handle_.token = stored ? step_.token : 0;
  handle_.expires = stored ? step_.expires : step_.at + step_.ttl;
  if (step_.state == HoldState::taken && check_.may_have_auto_limits()) handle_.taken = step_.at;
  for (std::size_t i = 0; i < check_.charges().size(); ++i) {
    const Charge& charge = check_.charges()[i];
    if (is_lease(charge) && charge.cost > 0 && check_.outcomes()[i].admitted) {
      charge_to_hold(charge, handle_.charges.append());
    }
  }
  note_open();
  answer.handle = engine_.hold_ids_.seal(handle_);
  answer.created = step_.state != HoldState::live;
  tell_expiry();
  if (stored && !handle_.charges.empty()) answer.fencing_token = step_.token;
}

// The store's clock may be another than this node's. By the time of asking, so that it lives at least that long.
void Engine::LeaseRun::tell_expiry() {
  call_->answer.ttl = handle_.expires - step_.at;
  call_->answer.expires = reading().wall() + call_->answer.ttl;
}

void Engine::LeaseRun::finish_renew() {
  if (step_.state == HoldState::gone) {
    refuse(HoldFault::gone, "the lease was released or has expired; acquire another one");
    return;
  }
  LeaseAnswer& answer = call_->answer;
  handle_.token = step_.token;
  handle_.ttl = step_.ttl;
  handle_.expires = charges.empty() ? step_.at + step_.ttl : step_.expires;
  describe_outcomes();
  answer.handle = engine_.hold_ids_.seal(handle_);
  tell_expiry();
  if (!charges.empty()) answer.fencing_token = step_.token;
}

// What the rules have left, by the limits that the lease was renewed under.
void Engine::LeaseRun::describe_outcomes() {
  Decision& decision = call_->answer.decision;
  decision.reason = Reason::ok;
  decision.source = engine_.source_;
  decision.atomic = atomic;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (describe_rule(i) == nullptr || decision.deciding >= 0 || !charges[i].binding) continue;
    decision.deciding = static_cast<std::int32_t>(decision.rules.size() - 1);
  }
}

void Engine::LeaseRun::finish_list() {
  LeaseAnswer& answer = call_->answer;
  answer.list_cut = listed_.size() > kMaxListed;
  listed_.resize(std::min(listed_.size(), kMaxListed));
  // A lease has the same id under every rule: those of one lease follow each other here.
  std::vector<const ListedHold*> by_id;
  for (const ListedHold& each : listed_) by_id.push_back(&each);
  const auto id_of = [](const ListedHold* each) { return std::pair(each->id.high, each->id.low); };
  std::stable_sort(by_id.begin(), by_id.end(), [&](auto* a, auto* b) { return id_of(a) < id_of(b); });
  for (const ListedHold& each : listed_) {
    HoldHandle handle;
    handle.id = each.id;
    handle.token = each.token;
    handle.expires = each.expires;
    handle.ttl = charges[each.charge].allowance->window;
    auto part =
        std::lower_bound(by_id.begin(), by_id.end(), &each, [&](auto* a, auto* b) { return id_of(a) < id_of(b); });
    for (; part != by_id.end() && (*part)->id == each.id && handle.charges.size() < kMaxHeldCharges; ++part) {
      HeldCharge& held = handle.charges.append();
      charge_to_hold(charges[(*part)->charge], held);
      held.cost = (*part)->units;
      handle.token = std::max(handle.token, (*part)->token);
    }
    answer.list.push_back({.rule = std::string(charges[each.charge].rule),
                           .handle = engine_.hold_ids_.seal(handle),
                           .units = each.units,
                           .expires = reading().wall() + (each.expires - step_.at)});
  }
}

}  // namespace weir::engine
