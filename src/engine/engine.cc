#include "engine/engine.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>
#include <utility>

#include "engine/stages/verdict.h"
#include "engine/waiter.h"

namespace weir::engine {

// The call to a store that answers at once: everything on the stack.
class Engine::InlineCall final : public StoreCall {
 public:
  void complete() override { assert(false && "an immediate store answers before begin() returns"); }
};

// The call to a store that answers later: owns the check, the rules it refers to, and itself until completed.
class Engine::DeferredCall final : public StoreCall {
 public:
  DeferredCall(Engine& engine, Completion done) : engine_(engine), done_(std::move(done)) {}

  void complete() override {
    const std::unique_ptr<DeferredCall> self(this);
    engine_.learn(check, *this, asked);
    describe_rules(check, decision);
    engine_.finish(check, *this, decision);
    if (taken_locally && !decision.allowed) engine_.local_limits_.give_back(check, reading());
    answer();
  }
  void answer() { done_(decision); }

  Check check;
  Decision decision;
  std::shared_ptr<const RulesInForce> rules;
  Prefilter::Stamp asked;
  bool taken_locally = false;

 private:
  Engine& engine_;
  Completion done_;
};

namespace {

Action effective_action(Action action, const Request& request) {
  return action == Action::take && request.peek ? Action::peek : action;
}

void prepare(StoreCall& call, Action action, const Reading& at, Check& check) {
  call.action = action;
  call.set_reading(at);
  call.charges = check.charges();
  call.outcomes = check.outcomes();
}

std::unique_ptr<Prefilter> make_prefilter(std::shared_ptr<BucketGenerations> generations) {
  if (generations == nullptr) generations = std::make_shared<BucketGenerations>();
  return std::make_unique<Prefilter>(std::move(generations));
}

bool has_several_allowances(const rules::Match& match) {
  return !match.rule->source.plans.empty() || !match.rule->source.overrides.empty();
}

// A denial that counts is written like an admission, except where there is nothing to repay and nothing left to count.
bool counts_denials(const Charge& charge) {
  return charge.count_denied && charge.allowance->algorithm != Algorithm::fixed_window;
}

// True when the call was denied as a whole, so that what it admitted is not charged, or no longer is.
bool is_denied(const StoreCall& call) {
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    if (call.charges[i].binding && !call.outcomes[i].admitted) return true;
  }
  return false;
}

}  // namespace

Engine::Engine(std::shared_ptr<rules::RuleBook> book, LimiterOptions options, std::shared_ptr<Store> fallback,
               std::shared_ptr<BucketGenerations> generations)
    : store_(std::move(options.store)),
      immediate_(store_->immediate()),
      with_tags_(store_->uses_tags()),
      source_(store_->name()),
      clock_(std::move(options.clock)),
      observers_(std::move(options.observers)),
      fallback_(std::move(fallback)),
      rules_(std::move(book), options.hash_key),
      policies_(*fallback_, rules_.encoder()),
      local_limits_(*fallback_),
      prefilter_(options.prefilter && !immediate_ ? make_prefilter(std::move(generations)) : nullptr) {
  assert(store_ != nullptr && clock_ != nullptr && fallback_->immediate());
}

Decision Engine::check(const Request& request) { return run(Action::take, request); }
void Engine::check(const Request& request, Completion done) { run(Action::take, request, std::move(done)); }
Decision Engine::refund(const Request& request) { return run(Action::refund, request); }
void Engine::refund(const Request& request, Completion done) { run(Action::refund, request, std::move(done)); }
Decision Engine::reset(const Request& request) { return run(Action::reset, request); }
Status Engine::replace(const Rules& rules) { return rules_.book().replace(rules); }
Status Engine::reload() {
  const Result<rules::LoadEffect> loaded = rules_.book().reload();
  if (!loaded.ok()) return loaded.failure();
  return success();
}
void Engine::find_replaced(std::span<const Request> requests, std::span<bool> replaced) {
  rules_.current().set->find_replaced(requests, replaced);
}

// One check. This is the path that every front end and every store shares. The decision is made in place, where the
// caller has it.
Decision Engine::run(Action action, const Request& request) {
  Decision decision;
  if (!Check::within_bounds(request)) {
    refuse_out_of_bounds(request, decision);
  } else if (immediate_) {
    const Reading at = clock_->read();
    Check check;
    check.plan(request, at.wall(), rules_.current(), rules_.encoder(), with_tags_);
    store_->prefetch(check.charges());
    decide_now(check, effective_action(action, request), at, decision);
  } else {
    Waiter<Decision> waiter;
    run(action, request, [&waiter](const Decision& answer) { waiter.complete(answer); });
    decision = waiter.wait();
  }
  return decision;
}

// Every decision passes here once. Peeks, refunds and resets decide nothing, so the observers do not see them.
// Hidden rules are hidden from callers, not from the observers.
inline void Engine::publish(const Check& check, Decision& decision, std::string_view source, Action action) {
  decision.source = source;
  if (action == Action::take) {
    for (const auto& observer : observers_) observer->on_decision(decision);
  }
  if (check.may_have_hidden_rules()) [[unlikely]]
    hide_rules(check, source_, decision);
}

// Precondition: describe_rules(check, decision).
[[gnu::always_inline]] inline void Engine::finish(Check& check, StoreCall& call, Decision& decision) {
  bool answered = call.status == Code::ok;
  for (const ChargeOutcome& outcome : call.outcomes.first(check.deciding())) answered &= outcome.status == Code::ok;
  if (!answered) [[unlikely]]
    return finish_failed(check, call, decision);
  make_verdict(check, {}, decision);
  decision.atomic = call.atomic;
  publish(check, decision, source_, call.action);
}

void Engine::finish_one(Check& check, StoreCall& call, Decision& decision) {
  describe_rules(check, decision);
  finish(check, call, decision);
}

void Engine::refuse_one(const Check& check, std::size_t charge, const ChargeOutcome& outcome, std::string_view source,
                        Decision& decision) {
  refuse_exhausted(check, charge, outcome, decision);
  publish(check, decision, source, Action::take);
}

void Engine::refuse_too_many(const Check& check, Decision& decision) {
  refuse_too_many_rules(check, decision);
  publish(check, decision, source_, Action::take);
}

void Engine::decide_now(Check& check, Action action, const Reading& at, Decision& decision) {
  if (check.charges().size() > kMaxCharges) [[unlikely]] {
    refuse_too_many_rules(check, decision);
    return publish(check, decision, source_, action);
  }
  InlineCall call;
  prepare(call, action, at, check);
  if (check.may_have_local_limits()) [[unlikely]]
    return decide_behind_local_limits(check, call, decision);
  describe_rules(check, decision);  // while the buckets' memory is on its way
  if (!check.charges().empty()) ask_now(call);
  finish(check, call, decision);
}

void Engine::decide_behind_local_limits(Check& check, StoreCall& call, Decision& decision) {
  const LocalLimits::Answer local = local_limits_.ask(check, call.action, call.reading());
  if (local.denied) {
    refuse_exhausted(check, *local.denied, local.outcome, decision);
    return publish(check, decision, "local", call.action);
  }
  describe_rules(check, decision);
  if (!check.charges().empty()) ask_now(call);
  finish(check, call, decision);
  if (local.taken && !decision.allowed) local_limits_.give_back(check, call.reading());
}

void Engine::ask_now(StoreCall& call) {
  const bool answered = store_->begin(call);
  assert(answered);
  static_cast<void>(answered);
}

// The same for a store that answers later, on its own thread.
void Engine::run(Action action, const Request& request, Completion done) {
  if (immediate_ || !Check::within_bounds(request)) return done(run(action, request));
  const Reading at = clock_->read();
  auto call = std::make_unique<DeferredCall>(*this, std::move(done));
  call->rules = rules_.current_shared();
  call->check.plan(request, at.wall(), *call->rules, rules_.encoder(), with_tags_);
  if (call->check.charges().size() > kMaxCharges) {
    refuse_too_many_rules(call->check, call->decision);
    publish(call->check, call->decision, source_, action);
    return call->answer();
  }
  prepare(*call, effective_action(action, request), at, call->check);
  call->ingress = request.ingress;
  if (prefilter_ != nullptr && call->action == Action::take) {
    if (const auto hit = prefilter_->find(call->charges, at.now, call->skew())) {
      refuse_exhausted(call->check, hit->charge, hit->outcome, call->decision);
      publish(call->check, call->decision, "prefilter", Action::take);
      return call->answer();
    }
    call->asked = prefilter_->stamp(call->charges, at.now, call->skew());
  }
  if (call->check.may_have_local_limits()) {
    const LocalLimits::Answer local = local_limits_.ask(call->check, call->action, at);
    if (local.denied) {
      refuse_exhausted(call->check, *local.denied, local.outcome, call->decision);
      publish(call->check, call->decision, "local", call->action);
      return call->answer();
    }
    call->taken_locally = local.taken;
  }
  DeferredCall* const pending = call.release();  // owns itself until complete()
  if (pending->charges.empty() || store_->begin(*pending)) pending->complete();
}

// Sixteen requests at a time, so that the memory of all their buckets is on its way before the first is touched.
void Engine::check_batch(std::span<const Request> requests, std::span<Decision> decisions) {
  assert(requests.size() == decisions.size());
  constexpr std::size_t kGroup = 16;
  if (!immediate_) {
    for (std::size_t i = 0; i < requests.size(); ++i) decisions[i] = run(Action::take, requests[i]);
    return;
  }
  const Reading at = clock_->read();
  const RulesInForce& rules = rules_.current();
  for (std::size_t first = 0; first < requests.size(); first += kGroup) {
    const std::size_t count = std::min(kGroup, requests.size() - first);
    Check checks[kGroup];
    for (std::size_t i = 0; i < count; ++i) {
      if (!Check::within_bounds(requests[first + i])) continue;
      checks[i].plan(requests[first + i], at.wall(), rules, rules_.encoder(), with_tags_);
      store_->prefetch(checks[i].charges());
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Request& request = requests[first + i];
      Decision& decision = decisions[first + i];
      std::destroy_at(&decision);
      new (&decision) Decision;  // anew where it stands, without touching the room for its rules
      if (Check::within_bounds(request)) {
        decide_now(checks[i], effective_action(Action::take, request), at, decision);
      } else {
        refuse_out_of_bounds(request, decision);
      }
    }
  }
}

// The store did not answer at all, or had no room for some buckets and, if one of them binds, charged none. The rules
// concerned answer by their policies; if those admit, the buckets that the store does hold are charged after all.
void Engine::finish_failed(Check& check, StoreCall& call, Decision& decision) {
  const std::size_t count = check.deciding();
  InlineVector<bool, 64> failed;
  failed.resize(count);
  bool charged = call.status == Code::ok;  // a charge that does not bind and found no room held back none of the others
  for (std::size_t i = 0; i < count; ++i) {
    failed[i] = call.status != Code::ok || check.outcomes()[i].status != Code::ok;
    charged = charged && !(failed[i] && check.charges()[i].binding);
  }
  policies_.answer(check, {failed.data(), count}, call.action, call.reading());

  bool admitted = true;
  InlineVector<Charge, 8> held;
  InlineVector<std::uint32_t, 8> held_index;
  for (std::size_t i = 0; i < count; ++i) {
    if (failed[i]) {
      admitted = admitted && (check.outcomes()[i].admitted || !check.charges()[i].binding);
    } else {
      held.push_back(check.charges()[i]);
      held_index.push_back(static_cast<std::uint32_t>(i));
    }
  }
  for (std::size_t i = count; i < check.charges().size() && !held.empty(); ++i) {
    held.push_back(check.charges()[i]);
    held_index.push_back(static_cast<std::uint32_t>(i));
  }
  if (!held.empty() && immediate_ && !charged) {
    InlineVector<ChargeOutcome, 8> outcomes;
    outcomes.resize(held.size());
    InlineCall again;
    again.action = admitted || call.action != Action::take ? call.action : Action::peek;
    again.set_reading(call.reading());
    again.charges = {held.data(), held.size()};
    again.outcomes = {outcomes.data(), outcomes.size()};
    if (store_->begin(again)) {
      for (std::size_t i = 0; i < held.size(); ++i) check.outcomes()[held_index[i]] = outcomes[i];
    }
  }

  make_verdict(check, {failed.data(), count}, decision);
  decision.degraded = true;
  decision.atomic = false;
  publish(check, decision, "fallback", call.action);
}

// What the answer means for the prefilters: this engine's, and through forget() those of all loops.
void Engine::learn(const Check& check, const StoreCall& call, const Prefilter::Stamp& asked) {
  if (prefilter_ == nullptr || call.action == Action::peek) return;
  if (call.action != Action::take) return prefilter_->forget(call.charges);
  if (call.status != Code::ok) {
    // Some of its steps may have been charged and given back.
    if (!call.atomic) prefilter_->forget(call.charges);
    return;
  }
  prefilter_->remember(call.charges, call.outcomes, asked);
  const bool denied = is_denied(call);
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const bool admitted = call.outcomes[i].admitted;
    // Repaid at the rate of one allowance, the bucket may admit earlier under another than it has said.
    const bool written = admitted ? !denied : counts_denials(call.charges[i]);
    const bool repaid = written && i < check.deciding() && has_several_allowances(check.match_of(i));
    // Charged, so that others may have been denied, and given back because another bucket denied.
    const bool undone = admitted && denied && !call.atomic;
    if (repaid || undone) prefilter_->forget(call.charges.subspan(i, 1));
  }
}

}  // namespace weir::engine
