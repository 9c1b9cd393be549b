#include "engine/lease_run.h"

#include <algorithm>
#include <utility>

namespace weir::engine {
namespace {

constexpr Duration kTtlWithoutRule = std::chrono::seconds(60);

std::string milliseconds(Duration duration) { return std::to_string(duration.count() / 1'000) + " ms"; }

bool is_lease(const Charge& charge) { return charge.kind == ChargeKind::lease; }

}  // namespace

bool Engine::begin_lease(LeaseCall& call) {
  if (immediate_ && !rules_.current().set->has_quotas()) {
    LeaseRun run(*this, call);
    return run.start();
  }
  auto run = std::make_unique<LeaseRun>(*this, call);
  if (!run->start()) {
    static_cast<void>(run.release());  // owns itself until it is completed
    return false;
  }
  if (!run->deferred()) return true;
  run->call().complete();
  return false;
}

bool Engine::LeaseRun::start() {
  verb_ = call_->question.verb;
  hold = &step_;
  set_reading(engine_.clock_->read());
  step_.at = now;
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

bool Engine::LeaseRun::refuse(HoldFault fault, std::string message) {
  call_->answer.fault = fault;
  call_->answer.message = std::move(message);
  return true;
}

bool Engine::LeaseRun::check_ttl(Duration ttl) {
  if (ttl == Duration::zero() || (ttl >= kMinHoldTtl && ttl <= kMaxHoldTtl)) return true;
  refuse(HoldFault::invalid, "ttl: is " + milliseconds(ttl) + ", expected " + milliseconds(kMinHoldTtl) + " to " +
                                 milliseconds(kMaxHoldTtl));
  return false;
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

bool Engine::LeaseRun::acquire() {
  const LeaseQuestion& question = call_->question;
  if (!check_ttl(question.ttl)) return true;
  if (question.id.find('\0') != question.id.npos) return refuse(HoldFault::invalid, "id: must not contain NUL");
  if (question.id.size() > kMaxHoldId) {
    return refuse(HoldFault::invalid, "id: has " + std::to_string(question.id.size()) + " bytes, expected at most " +
                                          std::to_string(kMaxHoldId));
  }
  rules_ = engine_.rules_.current_shared();
  rules::CompletedRequest room;
  const Request& request = completed(question.request, *rules_, room);
  if (!engine_.plan(request, Action::take, reading(), *rules_, check_, call_->answer.decision)) return true;
  check_.drop_candidates();
  if (std::count_if(check_.charges().begin(), check_.charges().end(), is_lease) > std::ptrdiff_t{kMaxHeldCharges}) {
    return refuse(HoldFault::invalid, "attributes: more than " + std::to_string(kMaxHeldCharges) +
                                          " concurrency rules apply; one lease can have a part in no more");
  }
  note_trace(request);
  carry(check_, Action::take, reading());
  adopt_quotas();
  ingress = question.request.ingress;
  decisions = {&call_->answer.decision, 1};
  step_.ttl = question.ttl == Duration::zero() ? shortest_lease() : question.ttl;
  step_.named = past_prefilter = !question.id.empty();
  step_.id = step_.named ? engine_.hold_ids_.named(HoldHandle::Use::lease, question.caller, question.id,
                                                   question.request.attributes)
                         : engine_.hold_ids_.random();
  if (!engine_.decide(*this)) return false;
  finish();
  return true;
}

bool Engine::LeaseRun::use_handle() {
  const LeaseQuestion& question = call_->question;
  if (!check_ttl(question.ttl)) return true;
  std::optional<HoldHandle> opened = engine_.hold_ids_.open(question.handle, HoldHandle::Use::lease, handle_bytes_);
  if (!opened) {
    return refuse(HoldFault::forged, "lease: not a handle of this service; acquire a lease and use the one it returns");
  }
  handle_ = std::move(*opened);
  step_.id = handle_.id;
  step_.named = handle_.named;
  step_.token = handle_.token;
  step_.expires = handle_.expires;
  step_.ttl = question.ttl == Duration::zero() ? handle_.ttl : question.ttl;
  if (verb_ == Verb::renew) rules_ = engine_.rules_.current_shared();
  for (HeldCharge& each : handle_.charges) {
    // A lease that the store has lost takes a slot by today's rules, as far as they can be known without the request.
    if (rules_ != nullptr && each.kind == ChargeKind::lease) {
      each.allowance.limit = rules_->set->lease_limit(each.rule).value_or(each.allowance.limit);
    }
    Charge& charge = own_charges_.append();
    charge.key = each.key;
    charge.tag = each.tag;
    charge.allowance = &each.allowance;
    charge.rule = each.rule;
    charge.cost = each.cost;
    charge.binding = each.binding;
    charge.kind = each.kind;
  }
  action = verb_ == Verb::renew ? Action::renew : Action::settle;
  return ask();
}

bool Engine::LeaseRun::list() {
  rules_ = engine_.rules_.current_shared();
  rules::CompletedRequest room;
  const Request& request = completed(call_->question.request, *rules_, room);
  if (!engine_.plan(request, Action::list, reading(), *rules_, check_, call_->answer.decision)) return true;
  for (const Charge& charge : check_.charges()) {
    if (is_lease(charge)) own_charges_.push_back(charge);
  }
  step_.listed = &listed_;
  action = Action::list;
  return ask();
}

bool Engine::LeaseRun::ask() {
  own_outcomes_.resize(own_charges_.size());
  charges = {own_charges_.data(), own_charges_.size()};
  outcomes = {own_outcomes_.data(), own_outcomes_.size()};
  if (!charges.empty()) {
    if (!engine_.immediate_) detach_once(false);
    if (!engine_.store_->begin(*this)) return false;
  }
  finish();
  return true;
}

void Engine::LeaseRun::detach(bool keep) {
  outlive_requests(keep);
  call_ = &call_->defer();
  deferred_ = true;
  decisions = {&call_->answer.decision, 1};
}

void Engine::LeaseRun::complete() {
  if (verb_ == Verb::acquire && !engine_.conclude(*this)) return;
  const std::unique_ptr<LeaseRun> self(this);
  finish();
  call_->complete();
}

void Engine::LeaseRun::finish() {
  if (verb_ == Verb::acquire) return finish_acquire();
  if (status != Code::ok) {
    refuse(HoldFault::unavailable, "the store did not answer; try again: renewing and releasing twice does no harm");
    return;
  }
  if (verb_ != Verb::list) engine_.note_open(step_, now + (step_.expires - step_.at));
  if (step_.state == HoldState::ended) engine_.note_completed(handle_, step_.at);
  if (verb_ == Verb::renew) finish_renew();
  if (verb_ == Verb::list) finish_list();
}

void Engine::LeaseRun::finish_acquire() {
  LeaseAnswer& answer = call_->answer;
  if (step_.state == HoldState::gone) {
    refuse(HoldFault::gone, "id: its lease was released or has lapsed; use another id");
    return;
  }
  if (!answer.decision.allowed) return;
  // Without the store, or without room in it, nothing is held: the lease is only a promise of the failure policy.
  const bool stored = step_.state == HoldState::taken || step_.state == HoldState::live;
  handle_.id = step_.id;
  handle_.named = step_.named;
  handle_.ttl = step_.ttl;
  handle_.token = stored ? step_.token : 0;
  handle_.expires = stored ? step_.expires : step_.at + step_.ttl;
  if (step_.state == HoldState::taken && check_.may_have_auto_limits()) handle_.taken = step_.at;
  for (std::size_t i = 0; i < check_.charges().size(); ++i) {
    const Charge& charge = check_.charges()[i];
    if (is_lease(charge) && charge.cost > 0 && check_.outcomes()[i].admitted) handle_.charges.push_back(held(i));
  }
  engine_.note_open(step_, now + (step_.expires - step_.at));
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

HeldCharge Engine::LeaseRun::held(std::size_t charge) const {
  const Charge& from = charges[charge];
  HeldCharge held;
  held.key = from.key;
  held.tag = from.tag;
  held.rule = from.rule;
  held.cost = from.cost;
  held.allowance = *from.allowance;
  held.kind = from.kind;
  held.binding = from.binding;
  return held;
}

void Engine::LeaseRun::finish_renew() {
  if (step_.state == HoldState::gone) {
    refuse(HoldFault::gone, "the lease was released or has lapsed; acquire another one");
    return;
  }
  LeaseAnswer& answer = call_->answer;
  handle_.token = step_.token;
  handle_.ttl = step_.ttl;
  handle_.expires = charges.empty() ? step_.at + step_.ttl : step_.expires;
  answer.handle = engine_.hold_ids_.seal(handle_);
  tell_expiry();
  if (!charges.empty()) answer.fencing_token = step_.token;
  describe_outcomes();
}

// What the rules have left, by the limits that the lease was renewed under.
void Engine::LeaseRun::describe_outcomes() {
  Decision& decision = call_->answer.decision;
  decision.reason = Reason::ok;
  decision.source = engine_.source_;
  decision.atomic = atomic;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const std::optional<rules::RuleName> name = engine_.rules_.book().names().find(charges[i].rule);
    if (!name) continue;  // a rule that this node has never loaded
    RuleOutcome& outcome = decision.rules.append();
    outcome.rule = name->id;
    outcome.ordinal = name->ordinal;
    outcome.subject = charges[i].key;
    outcome.kind = charges[i].kind;
    outcome.mode = charges[i].binding ? Mode::enforce : Mode::shadow;
    outcome.limit = outcome.capacity = charges[i].allowance->limit;
    outcome.cost = charges[i].cost;
    outcome.remaining = outcomes[i].remaining;
    outcome.reset_after = outcomes[i].reset_after;
    if (decision.deciding < 0 && charges[i].binding) {
      decision.deciding = static_cast<std::int32_t>(decision.rules.size() - 1);
    }
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
      handle.charges.push_back(held((*part)->charge));
      handle.charges[handle.charges.size() - 1].cost = (*part)->units;
      handle.token = std::max(handle.token, (*part)->token);
    }
    answer.list.push_back({.rule = std::string(charges[each.charge].rule),
                           .handle = engine_.hold_ids_.seal(handle),
                           .units = each.units,
                           .expires = reading().wall() + (each.expires - step_.at)});
  }
}

}  // namespace weir::engine
