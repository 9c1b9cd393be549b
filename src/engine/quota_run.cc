// The quota gate as a stage (stages/quota_gate.h): what an engine does with it before the store is asked, after the
// store has answered, and when the verdict is known.
#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "engine/engine.h"
#include "engine/stages/inline_call.h"

namespace weir::engine {
namespace {

using Quick = QuotaGate::Quick;
using Verb = QuotaCall::Verb;
using Waiting = QuotaPart::Waiting;

std::string random_operation() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(32, '0');
  base::write_hex(id.data(), random());
  base::write_hex(id.data() + 16, random());
  return id;
}

// A group keeps its charges until the store has given them back.
class UndoCall final : public StoreCall {
 public:
  UndoCall(const StoreCall& of, std::span<const Charge> of_charges) : charges_(of_charges.begin(), of_charges.end()) {
    action = Action::refund;
    set_reading(of.reading());
    ingress = of.ingress;
    for (const Charge& charge : charges_) allowances_.push_back(*charge.allowance);
    for (std::size_t i = 0; i < charges_.size(); ++i) {
      charges_[i].allowance = &allowances_[i];
      rules_.emplace_back(charges_[i].rule);
    }
    for (std::size_t i = 0; i < charges_.size(); ++i) charges_[i].rule = rules_[i];
    outcomes_.resize(charges_.size());
    charges = charges_;
    outcomes = outcomes_;
  }
  void complete() override { delete this; }

 private:
  std::vector<Charge> charges_;
  std::vector<Allowance> allowances_;
  std::vector<std::string> rules_;
  std::vector<ChargeOutcome> outcomes_;
};

bool denies(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (charges[i].binding && !outcomes[i].admitted) return true;
  }
  return false;
}

// A lease whose id a client made, under some rule of concurrency.
bool may_be_repeated(const Run& run) {
  if (run.action != Action::take || run.hold == nullptr || run.hold->reservation || !run.hold->named) return false;
  return std::any_of(run.charges.begin(), run.charges.end(),
                     [](const Charge& charge) { return charge.kind == ChargeKind::lease && charge.cost > 0; });
}

// Its id had a lease: what was taken for that is billed already.
bool found_lease(const Run& run) {
  return run.status == Code::ok && run.hold != nullptr && !run.hold->reservation && run.hold->state == HoldState::live;
}

Verb verb_of(Action action) {
  if (action == Action::refund) return Verb::refund;
  return action == Action::take ? Verb::take : Verb::peek;  // a reset never touches a quota
}

}  // namespace

// What can be answered at once is; otherwise the run waits for the ledger.
Engine::Gate Engine::enter_gate(Run& run) {
  QuotaPart& part = *run.quotas;
  if (quota_gate_ == nullptr) {
    for (QuotaCharge& each : part.all()) each.outcome.status = Code::unavailable;
    part.asked_strict = true;
    return pass_gate(run);
  }
  if (!part.looked && may_be_repeated(run)) return look_for_lease(run);
  const bool takes = run.action == Action::take;
  const bool before_all = run.hold != nullptr || !takes;  // strict ones too
  Quick answer = Quick::wait;
  if (takes && !part.reserving && !(before_all && part.has_strict())) {
    answer = part.take_quickly(*quota_gate_);
    if (part.counts_beyond()) part.describe();
  }
  if (run.action == Action::peek && !part.reserving) answer = part.peek_quickly(*quota_gate_);
  const bool strict_later = takes && part.has_strict() && !before_all && answer == Quick::done;
  if (answer == Quick::wait || strict_later) {
    if (!part.can_wait) {
      if (answer == Quick::done) {
        for (QuotaCharge& each : part.leased()) {
          if (each.taken != nullptr) quota_gate_->put_back(each);
        }
      }
      for (Check& check : run.checks.first(run.local_takes)) local_limits_.give_back(check, run.reading());
      part.must_wait = true;
      return Gate::refused;
    }
    part.describe();
  }
  if (answer != Quick::wait) return pass_gate(run);

  run.detach_once(shows_requests_);
  part.verb = part.reserving ? (takes ? Verb::reserve : Verb::peek) : verb_of(run.action);
  part.charges = before_all || part.reserving ? part.all() : part.leased();
  const bool once = takes && part.has_strict() && !part.once.empty();
  part.id = part.reserving ? part.reserving->id : once ? part.once : random_operation();
  if (once && !part.reserving) part.request = part.once_request;
  if (part.reserving) {
    part.amount = part.reserving->amount;
    part.partial = part.reserving->partial;
    part.ttl = part.reserving->ttl;
  }
  if (before_all || part.reserving) part.asked_strict = true;
  part.waiting = Waiting::before;
  if (DecisionTimes* const times = run.times()) times->ledger.from = clock_->wall();
  quota_gate_->begin(part);
  return Gate::later;
}

// Whether the id has a lease already, the store knows.
Engine::Gate Engine::look_for_lease(Run& run) {
  QuotaPart& part = *run.quotas;
  part.looked = true;
  part.describe();
  if (!immediate_) run.detach_once(shows_requests_);
  run.action = Action::peek;
  part.waiting = Waiting::look;
  if (!store_->begin(run)) return Gate::later;
  part.waiting = Waiting::no;
  return lease_looked_for(run);
}

// A store that does not answer is asked again, after the gate.
Engine::Gate Engine::lease_looked_for(Run& run) {
  run.action = Action::take;
  const bool answered = std::exchange(run.status, Code::ok) == Code::ok;
  const HoldState state = answered ? run.hold->state : HoldState::none;
  if (state == HoldState::gone || state == HoldState::other) return Gate::known;
  if (state == HoldState::live) return repeat_lease(run);
  return enter_gate(run);
}

// The answer tells what the quotas have left; nothing is asked of them.
Engine::Gate Engine::repeat_lease(Run& run) {
  QuotaPart& part = *run.quotas;
  describe_rules(run.checks.front(), run.decisions.front());
  part.repeated = part.asked_strict = true;
  for (QuotaCharge& each : part.all()) {
    each.cost = 0;
    each.outcome = {};
  }
  if (part.peek_quickly(*quota_gate_) == Quick::done) return pass_gate(run);
  run.detach_once(shows_requests_);
  part.verb = Verb::peek;
  part.charges = part.all();
  part.waiting = Waiting::before;
  quota_gate_->begin(part);
  return Gate::later;
}

// The gate has answered what is asked of it before the store.
Engine::Gate Engine::pass_gate(Run& run) {
  QuotaPart& part = *run.quotas;
  if (part.repeated) {
    for (QuotaCharge& each : part.all()) {
      if (each.outcome.status != Code::ok || !each.outcome.admitted) each.outcome = {};
    }
    part.hand_out();
    return Gate::known;
  }
  part.hand_out();
  // Of a part that was granted, the store is asked for no more.
  if (part.reserving && part.partial && part.granted > 0) run.hold->amount = std::min(run.hold->amount, part.granted);
  if (run.action != Action::take) return Gate::proceed;
  const std::optional<std::size_t> refusing = part.refusing();
  if (!refusing) return Gate::proceed;
  part.refused = true;
  if (run.combined != nullptr) {
    part.asked = std::exchange(run.action, Action::peek);
    return Gate::proceed;
  }
  refuse_by_quota(run, *refusing);
  finish_quotas(run, false);
  return Gate::refused;
}

void Engine::refuse_by_quota(Run& run, std::size_t quota) {
  QuotaPart& part = *run.quotas;
  Check& check = run.checks.front();
  Decision& decision = run.decisions.front();
  for (Check& each : run.checks.first(run.local_takes)) local_limits_.give_back(each, run.reading());
  const ChargeOutcome& outcome = part.all()[quota].outcome;
  if (outcome.status == Code::ok) {
    refuse_exhausted(check, part.charge_of(quota), outcome, decision);
    return publish(check, run, decision, "ledger", run.action, run.reading().wall());
  }
  policies_.count_denial(check, part.charge_of(quota), run.now);
  refuse_unanswered(check, part.charge_of(quota), decision);
  publish(check, run, decision, "fallback", run.action, run.reading().wall());
}

// True if what the store has charged, or a rule's failure policy, admits the request.
bool Engine::others_admit(const Run& run) const {
  if (run.status == Code::ok) return !denies(run.charges, run.outcomes);
  return true;  // the policies decide with the verdict; a take that they deny is reversed
}

// What the store has granted of a part is less than the ledger holds. False: the ledger is told, and conclude() goes
// on.
bool Engine::narrow_quotas(Run& run) {
  QuotaPart& part = *run.quotas;
  if (part.narrowed || !part.reserving || !part.partial || part.refused || run.action != Action::take) return true;
  const bool holds = part.status == Code::ok && part.granted > 0;
  const bool taken = run.status == Code::ok && run.hold->state == HoldState::taken;
  if (!holds || !taken || run.hold->granted >= part.granted) return true;
  part.narrowed = true;
  part.verb = Verb::narrow;
  part.amount = part.granted - run.hold->granted;
  part.waiting = Waiting::after;
  quota_gate_->begin(part);
  return false;
}

// False: the ledger was asked, and conclude() goes on.
bool Engine::take_strict(Run& run) {
  QuotaPart& part = *run.quotas;
  if (part.store) part.store->hand_out();
  if (!narrow_quotas(run)) return false;
  if (part.refused) {
    run.action = part.asked;
    return true;
  }
  if (part.has_strict() && !part.asked_strict && run.action == Action::take && others_admit(run)) {
    part.asked_strict = true;
    run.detach_once(shows_requests_);
    part.verb = Verb::take;
    part.charges = part.strict();
    part.id = part.once.empty() ? random_operation() : part.once;
    part.request = part.once_request;
    part.waiting = Waiting::after;
    if (DecisionTimes* const times = run.times(); times != nullptr && times->ledger.from == TimePoint{}) {
      times->ledger.from = clock_->wall();
    }
    quota_gate_->begin(part);
    return false;
  }
  part.hand_out();
  if (part.has_strict() && part.refusing() && run.action == Action::take) undo_store(run);
  return true;
}

void Engine::undo_store(Run& run) {
  if (run.status != Code::ok || run.charges.empty() || run.hold != nullptr || denies(run.charges, run.outcomes)) return;
  auto* const undo = new UndoCall(run, run.charges);  // owns itself
  if (store_->begin(*undo)) undo->complete();
  if (prefilter_ != nullptr) prefilter_->forget(run.charges);
}

// The verdict is known: what was taken is confirmed, or given back.
void Engine::finish_quotas(Run& run, bool admitted) {
  if (quota_gate_ == nullptr || run.action != Action::take) return;
  QuotaPart& part = *run.quotas;
  if (part.repeated) return;
  if (part.reserving) {
    // What an earlier call with its id holds is not this one's to give back.
    const bool holds = !part.refused && !part.replayed && part.status == Code::ok && part.known;
    if (!admitted && holds) quota_gate_->release(part.id);
    return;
  }
  bool took_strict = false;
  const bool by_slices = run.hold == nullptr || !part.has_strict();  // else the ledger has taken leased ones too
  const bool second = found_lease(run);                              // of two calls with one id at the same time
  const bool spends = admitted && !run.replayed && !second;  // the call that was charged has taken its own units
  for (std::size_t i = 0; i < part.all().size(); ++i) {
    QuotaCharge& each = part.all()[i];
    if (each.taken != nullptr) {
      spends ? quota_gate_->confirm(each) : quota_gate_->put_back(each);
    } else if (spends && (each.outcome.status != Code::ok || (by_slices && part.counts_beyond(i)))) {
      quota_gate_->admitted_without(each);
    }
    const bool strict = i >= part.leased().size();
    const bool counted = each.outcome.status == Code::ok && (each.outcome.admitted || !each.binding);
    took_strict = took_strict || (strict && part.asked_strict && counted);
  }
  const bool not_its = second && !run.replayed && !part.replayed;
  if ((!admitted || not_its) && took_strict && !part.refusing()) quota_gate_->reverse(part.id);
}

// Nearly every check with a quota has one leased quota and nothing else, and the node holds enough of it. False:
// nothing was taken, and the gate is to be asked in general.
[[gnu::noinline]] bool Engine::take_one_quota(Check& check, Action action, const Reading& at) {
  if (quota_gate_ == nullptr || action != Action::take) return false;
  if (check.charges().size() != 1 || check.may_have_local_limits()) return false;
  QuotaCharge quota = quota_charge(check, 0);
  if (quota.quota->enforcement != Enforcement::leased || quota.outcome.too_large) return false;
  quota.alone = true;
  if (quota_gate_->try_take(quota, at) != Quick::done) return false;
  if (quota.taken != nullptr) quota_gate_->confirm(quota);
  check.outcomes()[0] = quota.outcome;
  return true;
}

[[gnu::noinline]] bool Engine::decide_quotas_at_once(Check& check, Action action, std::span<Decision> decision,
                                                     const Reading& at) {
  InlineRun run;
  run.decisions = decision.first(1);
  run.carry(check, action, at);
  QuotaPart part(run);
  part.can_wait = false;
  static_cast<void>(decide(run));
  return !part.must_wait;
}

}  // namespace weir::engine
