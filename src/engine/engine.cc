// The stages of a check, in their order, and the calls that stores answer at once. What is answered later, and groups
// that are charged together, are in later.cc; what is refused before the store is asked, in early_refusals.cc;
// newcomers that share a bucket, in shared_bucket.cc.
#include "engine/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/ad_hoc.h"
#include "engine/group.h"
#include "engine/stages/adaptive.h"
#include "engine/stages/candidates.h"
#include "engine/stages/verdict.h"

namespace weir::engine {
namespace {

template <typename T>
std::shared_ptr<T> given_or_made(std::shared_ptr<T> given) {
  return given != nullptr ? std::move(given) : std::make_shared<T>();
}

bool has_several_allowances(const rules::Match& match) {
  return !match.rule->source.plans.empty() || !match.rule->source.overrides.empty();
}

// A denial that counts is written like an admission, except where there is nothing to repay and nothing left to count.
bool counts_denials(const Charge& charge) {
  return charge.count_denied && charge.allowance->algorithm != Algorithm::fixed_window;
}

// True when these are denied as a whole, so that what was admitted of them is not charged, or no longer is.
bool is_denied(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (charges[i].binding && !outcomes[i].admitted) return true;
  }
  return false;
}

// The store had no room for some bucket, and so charged none.
bool lacks_room(const Run& run) {
  return run.status == Code::ok && std::any_of(run.outcomes.begin(), run.outcomes.end(),
                                               [](const ChargeOutcome& outcome) { return outcome.status != Code::ok; });
}

}  // namespace

Engine::Engine(std::shared_ptr<rules::RuleBook> book, LimiterOptions options, std::shared_ptr<Store> fallback,
               SharedState shared)
    : store_(std::move(options.store)),
      immediate_(store_->immediate()),
      with_tags_(store_->uses_tags()),
      source_(store_->name()),
      clock_(std::move(options.clock)),
      observers_(std::move(options.observers)),
      request_observers_(std::move(options.request_observers)),
      shows_requests_(
          std::any_of(request_observers_.begin(), request_observers_.end(),
                      [](const auto& each) { return each->scope() == RequestObserver::Scope::every_decision; })),
      fallback_(std::move(fallback)),
      debts_(immediate_ ? nullptr : given_or_made(std::move(shared.debts))),
      quota_gate_(std::move(options.quotas)),
      rules_(std::move(book), options.hash_key),
      policies_(*fallback_, rules_.encoder(), given_or_made(std::move(shared.fallback_times))),
      local_limits_(*fallback_),
      hold_ids_(options.hash_key),
      estimates_(given_or_made(std::move(shared.estimates))),
      shedder_(given_or_made(std::move(shared.shedder))),
      adaptive_(given_or_made(std::move(shared.adaptive))),
      sheds_(shared.sheds),
      prefilter_(options.prefilter && !immediate_
                     ? std::make_unique<Prefilter>(given_or_made(std::move(shared.generations)))
                     : nullptr) {
  assert(store_ != nullptr && clock_ != nullptr && fallback_->immediate());
}

Status Engine::replace(const Rules& rules) { return rules_.book().replace(rules, clock_->wall()); }
Status Engine::reload() {
  const Result<rules::LoadEffect> loaded = rules_.book().reload(clock_->wall());
  if (!loaded.ok()) return loaded.failure();
  return success();
}

// The names of the request are resolved once, for its class and for its rules. Apart, so that limiters that shed
// nothing do not pay for the names' room.
[[gnu::noinline]] bool Engine::plan_unless_shed(const Request& request, const Reading& at, const ActiveRules& rules,
                                                Check& check, Decision& decision) {
  rules::ResolvedNames names;
  rules.set->resolve(request, names);
  if (shed(request, names, at, rules, decision)) return false;
  check.plan(request, at.wall(), rules, rules_.encoder(), with_tags_, &names);
  return true;
}

[[gnu::noinline]] bool Engine::refuse_by_load(const Request& request, Duration wait, const Reading& at,
                                              const ActiveRules& rules, Decision& decision) {
  refuse_shed(request, wait, decision);
  decision.source = "shedding";
  decision.at = at.wall();
  for (const auto& observer : observers_) observer->on_decision(decision);
  show_refused(request, at, rules, decision, {});
  return true;
}

bool Engine::plan(const AdHocCharge& charge, const Allowance* allowance, Check& check, ChargeOutcome& outcome) {
  if (!is_within_bounds(charge)) [[unlikely]] {
    outcome = refused_charge();
    return false;
  }
  check.plan(charge, *allowance, rules_.encoder());
  return true;
}

// The other stages. False: the store answers later; conclude() then does the rest.
template <Engine::Shape kShape>
[[gnu::always_inline]] inline bool Engine::walk(Run& run) {
  if (run.charges.size() > kMaxCharges) [[unlikely]] {
    refuse_too_many(run);
    return true;
  }
  if (prefilter_ != nullptr && refuse_by_prefilter(run)) return true;
  if ((kShape == Shape::any && run.combined != nullptr) || run.checks.front().may_have_local_limits()) [[unlikely]] {
    if (refuse_by_local_limits(run)) return true;
  }
  if (kShape == Shape::any && run.quotas != nullptr) [[unlikely]] {
    const Gate gate = enter_gate(run);
    if (gate == Gate::known) return conclude_as<kShape>(run);
    if (gate != Gate::proceed) return gate == Gate::refused;
  }
  return ask_store<kShape>(run) && conclude_as<kShape>(run);
}

bool Engine::decide(Run& run) { return walk<Shape::any>(run); }
void Engine::decide_prepared(Run& run) { static_cast<void>(walk<Shape::prepared>(run)); }
[[gnu::hot]] bool Engine::decide_held(Run& run) { return walk<Shape::held>(run); }
bool Engine::conclude(Run& run) {
  note_answer(run);
  if (run.quotas != nullptr && run.quotas->waiting != QuotaPart::Waiting::no) [[unlikely]]
    return continue_quotas(run);
  return conclude_as<Shape::any>(run);
}
bool Engine::continue_quotas(Run& run) {
  const QuotaPart::Waiting waited = std::exchange(run.quotas->waiting, QuotaPart::Waiting::no);
  if (waited == QuotaPart::Waiting::after) return conclude_as<Shape::any>(run);
  const Gate gate = waited == QuotaPart::Waiting::look ? lease_looked_for(run) : pass_gate(run);
  if (gate == Gate::known) return conclude_as<Shape::any>(run);
  if (gate != Gate::proceed) return gate == Gate::refused;
  return ask_store<Shape::any>(run) && conclude_as<Shape::any>(run);
}

// The only place where charges reach the store, and where "now or later" is decided.
template <Engine::Shape kShape>
[[gnu::always_inline]] inline bool Engine::ask_store(Run& run) {
  if (kShape == Shape::any && !immediate_ && !run.charges.empty()) run.detach_once(shows_requests_);
  // While the memory of the buckets is being fetched.
  if constexpr (kShape == Shape::alone || kShape == Shape::held) {
    describe_rules(run.checks.front(), run.decisions.front());
  } else if constexpr (kShape == Shape::prepared) {
    if (run.decisions.front().rules.empty()) [[unlikely]]
      describe_rules(run.checks.front(), run.decisions.front());
  } else {
    for (std::size_t i = 0; i < run.decisions.size(); ++i) {
      if (run.checks[i].planned()) describe_rules(run.checks[i], run.decisions[i]);
    }
  }
  if (kShape == Shape::any && run.times() != nullptr) [[unlikely]]
    return ask_store_traced(run);
  return run.charges.empty() || store_->begin(run);
}

// What follows the store's answer. In a group a denial holds the others back: they are answered as if only checked.
template <Engine::Shape kShape>
[[gnu::always_inline]] inline bool Engine::conclude_as(Run& run) {
  if ((kShape == Shape::any && run.combined != nullptr) || run.checks.front().may_have_newcomers()) [[unlikely]] {
    const Shared shared = share_buckets(run);
    if (shared != Shared::answered) return shared == Shared::refused;
  }
  // Its id was used before: nothing was decided.
  if constexpr (kShape == Shape::held) {
    if (run.hold->state == HoldState::gone || run.hold->state == HoldState::other) [[unlikely]]
      return true;
  }
  if constexpr (kShape != Shape::any) {
    if (prefilter_ != nullptr) [[unlikely]]
      learn(run);
    if constexpr (kShape == Shape::prepared) renew_verdict(run.decisions.front());
    conclude_check(run.checks.front(), run, run.action, run.decisions.front());
    if (run.local_takes > 0 && !run.decisions.front().allowed) [[unlikely]]
      local_limits_.give_back(run.checks.front(), run.reading());
    return true;
  }
  if (run.hold != nullptr && (run.hold->state == HoldState::gone || run.hold->state == HoldState::other)) {
    if (run.quotas != nullptr) finish_quotas(run, false);
    return true;
  }
  if (run.quotas != nullptr && !take_strict(run)) [[unlikely]]
    return false;
  if (run.combined != nullptr) [[unlikely]] {
    if (immediate_ && lacks_room(run)) {
      conclude_each_alone(run);
      return true;
    }
    run.combined->hand_out(run.checks);
  }
  if (prefilter_ != nullptr) learn(run);
  const bool by_quota = run.quotas != nullptr && run.quotas->refusing();
  const bool held_back = run.combined != nullptr && (run.action != Action::take || by_quota ||
                                                     (run.status == Code::ok && is_denied(run.charges, run.outcomes)));
  for (std::size_t i = 0; i < run.checks.size(); ++i) {
    Check& check = run.checks[i];
    if (!check.planned()) [[unlikely]]
      continue;
    const bool decides = !held_back || is_denied(check.charges(), check.outcomes());
    const Action action = decides ? run.action : Action::peek;
    if (i < run.decisions.size()) {
      conclude_check(check, run, action, run.decisions[i]);
      if (i < run.local_takes && (held_back || !run.decisions[i].allowed)) [[unlikely]]
        local_limits_.give_back(check, run.reading());
    } else {
      conclude_ad_hoc(check, run, action, run.ad_hoc[i - run.decisions.size()]);
    }
  }
  if (run.quotas != nullptr) [[unlikely]] {
    finish_quotas(run, !held_back && std::all_of(run.decisions.begin(), run.decisions.end(),
                                                 [](const Decision& decision) { return decision.allowed; }));
  }
  return true;
}

// Failure policies answer for one check at a time, and so does a store without room.
void Engine::conclude_each_alone(Run& run) {
  for (std::size_t i = 0; i < run.checks.size(); ++i) {
    if (!run.checks[i].planned()) continue;
    InlineRun alone;
    alone.carry(run.checks[i], run.action, run.reading());
    if (i < run.decisions.size()) alone.decisions = run.decisions.subspan(i, 1);
    if (i >= run.decisions.size()) alone.ad_hoc = run.ad_hoc.subspan(i - run.decisions.size(), 1);
    alone.local_takes = i < run.local_takes ? 1 : 0;
    std::optional<StoreCharges> without_quotas;
    if (run.checks[i].has_quotas()) {
      without_quotas.emplace(run.checks[i]);
      alone.charges = without_quotas->charges();
      alone.outcomes = without_quotas->outcomes();
    }
    if (!alone.charges.empty() && !store_->begin(alone)) continue;
    if (without_quotas) without_quotas->hand_out();
    static_cast<void>(conclude(alone));
  }
}

// Waits that came from a store that answers later count from its answer on, so that none of them ends too early.
inline TimePoint Engine::decided_at(const Run& run) const { return immediate_ ? run.reading().wall() : clock_->wall(); }

// Who answered: the store, or this node by what it had of the buckets.
[[gnu::noinline]] std::string_view Engine::source_of(const Run& run) const {
  if (run.regional) return "region";
  if (run.answered == Consistency::synced) return "synced";
  return run.answered == Consistency::leased ? "lease" : source_;
}

// Precondition: describe_rules(check, decision).
[[gnu::always_inline]] inline void Engine::conclude_check(Check& check, const Run& run, Action action,
                                                          Decision& decision) {
  bool answered = run.status == Code::ok;
  if (check.has_bounds() && answered) [[unlikely]]
    check.apply_bounds(run.reading().wall());
  for (const ChargeOutcome& outcome : check.outcomes().first(check.deciding())) answered &= outcome.status == Code::ok;
  if (answered) [[likely]] {
    policies_.store_answered(check, run.now);
    if (debts_ != nullptr && debts_->owing()) [[unlikely]]
      settle_debts();
    make_verdict(check, {}, decision);
    if (!check.is_plain()) [[unlikely]] {
      if (check.may_have_protection()) judge_candidates(check, true, run.reading().wall(), decision);
      if (check.may_have_auto_limits()) judge_adaptive_limits(check, run, *adaptive_, decision);
    }
    decision.atomic = run.atomic;
    if (!decision.allowed | run.replayed) [[unlikely]] {
      decision.replayed = run.replayed;
      note_uncharged(check, decision);
    }
    const std::string_view source = check.may_have_slices() ? source_of(run) : source_;
    return publish(check, run, decision, source, action, decided_at(run));
  }
  conclude_failed(check, run, action, decision);
}

// Apart, so that what is answered does not pay for its room on the stack.
[[gnu::noinline]] void Engine::conclude_failed(Check& check, const Run& run, Action action, Decision& decision) {
  Store* const again = immediate_ && run.combined == nullptr ? store_.get() : nullptr;
  const FailurePolicies::Failed failed = policies_.stand_in(check, run, action, again);
  make_verdict(check, {failed.data(), failed.size()}, decision);
  note_outage(check, run, action, failed, decision);
  judge_candidates(check, false, {}, decision);
  decision.degraded = true;
  decision.atomic = run.atomic;
  publish(check, run, decision, "fallback", action, decided_at(run));
}

void Engine::conclude_ad_hoc(Check& check, const Run& run, Action action, ChargeOutcome& outcome) {
  outcome = check.outcomes().front();
  if (run.status != Code::ok) outcome.status = run.status;
  if (action != Action::take) return;
  for (const auto& observer : observers_) observer->on_charge(check.charges().front().rule, outcome);
}

// What the answer means for the prefilters: this engine's, and through forget() those of all loops.
void Engine::learn(const Run& run) {
  if (run.decisions.empty() || run.action == Action::peek) return;
  if (run.action != Action::take) return prefilter_->forget(run.charges);
  if (run.status != Code::ok) {
    // Some of its steps may have been charged and given back.
    if (!run.atomic) prefilter_->forget(run.charges);
    return;
  }
  prefilter_->remember(run.charges, run.outcomes, run.asked);
  const bool denied = is_denied(run.charges, run.outcomes);
  std::size_t next = 0;
  for (const Check& check : run.checks) {
    for (std::size_t i = 0; i < check.charges().size(); ++i) {
      if (check.charges()[i].kind == ChargeKind::quota) continue;
      const std::size_t place = run.combined != nullptr ? run.combined->places()[next] : next;
      ++next;
      const bool admitted = run.outcomes[place].admitted;
      // Repaid at the rate of one allowance, the bucket may admit earlier under another than it has said.
      const bool written = admitted ? !denied : counts_denials(run.charges[place]);
      const bool repaid = written && i < check.deciding() && has_several_allowances(check.match_of(i));
      // Charged, so that others may have been denied, and given back because another bucket denied.
      const bool undone = admitted && denied && !run.atomic;
      if (repaid || undone) prefilter_->forget(run.charges.subspan(place, 1));
    }
  }
}

[[gnu::noinline]] void Engine::show_request(const Check& check, const Run& run, const Decision& decision) {
  std::optional<RequestContext> context;
  for (const auto& observer : request_observers_) {
    if (!observer->wants(decision)) continue;
    if (!context) context.emplace(context_of(check, run, decision));
    observer->on_decision(decision, *context);
  }
  // Of several decisions that share a call, the first has shown it.
  if (DecisionTimes* const times = run.times()) times->store = times->ledger = {};
}

[[gnu::noinline]] RequestContext Engine::context_of(const Check& check, const Run& run,
                                                    const Decision& decision) const {
  RequestContext context = check.context(decision);
  const bool asked = !run.charges.empty() && (decision.degraded || decision.source == source_);
  if (!immediate_ && asked && run.charges.size() <= kMaxCharges) {
    context.store_latency = std::max(Duration::zero(), clock_->read().now - run.now);
  }
  DecisionTimes* const times = run.times();
  if (times != nullptr) times->ended = clock_->wall();
  context.times = times;
  return context;
}

// At most N requests, all planned first, so that the memory of all their buckets is being fetched before the first is
// touched.
template <std::size_t N>
[[gnu::always_inline]] inline bool Engine::decide_at_once(Action action, std::span<const Request> requests,
                                                          std::span<Decision> decisions, const Reading& at,
                                                          const ActiveRules& rules) {
  Check checks[N];
  const std::size_t count = N == 1 ? 1 : requests.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (plan(requests[i], effective_action(action, requests[i]), at, rules, checks[i], decisions[i])) [[likely]]
      store_->prefetch(checks[i].buckets());
    else if (N == 1)
      return true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (N > 1 && !checks[i].planned()) [[unlikely]]
      continue;
    const bool by_quota = N == 1 && checks[i].has_quotas();
    if (by_quota && !take_one_quota(checks[i], effective_action(action, requests[i]), at)) [[unlikely]]
      return decide_quotas_at_once(checks[i], effective_action(action, requests[i]), decisions, at);
    InlineRun run;
    run.decisions = decisions.subspan(i, 1);
    run.carry(checks[i], effective_action(action, requests[i]), at);
    if (by_quota) [[unlikely]]
      run.charges = {};  // the gate has answered
    static_cast<void>(walk<Shape::alone>(run));
  }
  return true;
}

// Apart from begin(), whose frame would else have room for a group.
[[gnu::noinline]] bool Engine::begin_batch(CheckCall& call, const Reading& at, const ActiveRules& rules) {
  if (rules.set->has_quotas()) return false;
  // Enough for a bucket to arrive while the others are planned, and few enough for all of it to stay in the cache.
  constexpr std::size_t kGroup = 8;
  for (std::size_t first = 0; first < call.requests.size(); first += kGroup) {
    const std::size_t count = std::min(kGroup, call.requests.size() - first);
    static_cast<void>(decide_at_once<kGroup>(call.action, call.requests.subspan(first, count),
                                             call.decisions.subspan(first, count), at, rules));
  }
  return true;
}

bool Engine::begin(CheckCall& call) {
  const ActiveRules& rules = rules_.current();
  if (rules.intake != nullptr && rules.intake->plans != nullptr) [[unlikely]]
    return begin_completed(call, rules);
  return begin_as_sent(call, rules);
}

bool Engine::begin_as_sent(CheckCall& call, const ActiveRules& rules) {
  if (!immediate_) return begin_later(call);
  const Reading at = clock_->read();
  if (call.requests.size() == 1 && !is_sampled(call.requests.front())) [[likely]] {
    if (decide_at_once<1>(call.action, call.requests, call.decisions, at, rules)) [[likely]]
      return true;
  } else if (std::none_of(call.requests.begin(), call.requests.end(), is_sampled) && begin_batch(call, at, rules)) {
    return true;
  }
  return begin_later(call);
}

bool Engine::begin_group(GroupCall& call) {
  const ActiveRules& rules = rules_.current();
  if (rules.intake != nullptr && rules.intake->plans != nullptr) [[unlikely]]
    return begin_group_completed(call, rules);
  return begin_group_as_sent(call, rules);
}

bool Engine::begin_group_as_sent(GroupCall& call, const ActiveRules& rules) {
  InlineVector<bool, kMaxAttributes> marks;
  marks.resize(call.requests.size());
  const std::span<bool> replaced(marks.data(), marks.size());
  if (call.replaces && call.requests.size() > 1) rules.set->find_replaced(call.requests, replaced);
  const bool together = call.all_or_none && count_takes(call, replaced) > 1;
  const bool may_wait = !call.requests.empty() && rules_.current().set->has_quotas();
  const bool traced = std::any_of(call.requests.begin(), call.requests.end(), is_sampled);
  if (!immediate_ || together || may_wait || traced) return begin_group_later(call, replaced, together);

  const Reading at = clock_->read();
  const bool plain = std::none_of(replaced.begin(), replaced.end(), [](bool mark) { return mark; });
  const auto differs = [&](Action action) { return action != call.actions.front(); };
  if (plain && std::none_of(call.actions.begin(), call.actions.end(), differs)) {
    if (!call.actions.empty()) call.action = call.actions.front();
    if (!call.requests.empty()) static_cast<void>(begin_as_sent(call, rules));
  } else {
    for (std::size_t i = 0; i < call.requests.size(); ++i) {
      if (replaced[i]) continue;
      static_cast<void>(
          decide_at_once<1>(action_of(call, i), call.requests.subspan(i, 1), call.decisions.subspan(i, 1), at, rules));
    }
  }
  for (std::size_t i = 0; i < call.charges.size(); ++i) charge_at_once(call.charges[i], at, call.outcomes[i]);
  return true;
}

}  // namespace weir::engine
