// Engine: the Limiter. Every check, batch, refund, reset, ad-hoc charge and group of them is a Run through the stages
// of Engine::decide(), in this order:
//
//   blocks          refuse some requests before anything else        stages/blocks.h
//   shedding        denied because this node has too much to do      stages/shedding.h
//   plan            which rules apply, as charges                    check.h
//   prefilter       denied without asking the store                  stages/prefilter.h
//   local limit     denied by a cap of this node                     stages/local_limit.h
//   quota gate      takes leased quotas, or waits for the ledger      stages/quota_gate.h
//   store           charges all buckets or none, now or later        weir/store.h
//   shared bucket   newcomers beyond max_subjects: the store again   check.h
//   quota gate      takes strict quotas; if it denies, undoes the store's charges
//   failure policy  answers for a store that did not                 stages/failure_policy.h
//   verdict         outcomes become a Decision                       stages/verdict.h
//   publish         observers see it, hidden rules are hidden
//
// Several engines may share one RuleBook and one thread-safe store: a server has one engine per loop, each with its
// own connections to the store, and all share what is in shared_state.h.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/active_rules.h"
#include "engine/check.h"
#include "engine/hold_counts.h"
#include "engine/hold_ids.h"
#include "engine/run.h"
#include "engine/shared_state.h"
#include "engine/stages/blocks.h"
#include "engine/stages/failure_policy.h"
#include "engine/stages/local_limit.h"
#include "engine/stages/prefilter.h"
#include "engine/stages/quota_gate.h"
#include "engine/stages/verdict.h"
#include "rules/rule_book.h"
#include "weir/ad_hoc.h"
#include "weir/leases.h"
#include "weir/limiter.h"
#include "weir/reservations.h"
#include "weir/usage.h"
#include "weir/work_report.h"

namespace weir::engine {

class PendingCall;

class Engine final : public Limiter,
                     public AdHocLimiter,
                     public LeaseLimiter,
                     public ReservationLimiter,
                     public UsageRecorder,
                     public WorkReports {
 public:
  // options.store, options.clock and options.hash_key must be set; `fallback` counts while the store fails, and must
  // answer at once.
  Engine(std::shared_ptr<rules::RuleBook> book, LimiterOptions options, std::shared_ptr<Store> fallback,
         SharedState shared = {});

  [[nodiscard]] bool begin(CheckCall& call) override;
  [[nodiscard]] bool begin_group(GroupCall& call) override;
  [[nodiscard]] bool begin_lease(LeaseCall& call) override;
  [[nodiscard]] bool begin_reservation(ReservationCall& call) override;
  void note_duration(Duration duration) override { shedder_->open_work().reported(duration, clock_->now()); }
  void note_work(const Request& request, Duration duration, bool succeeded) override;
  bool may_wait() const override { return !store_->answers_on_this_thread(); }
  AdHocLimiter* ad_hoc() override { return this; }
  LeaseLimiter* leases() override { return this; }
  // Null if the store cannot hold reservations.
  ReservationLimiter* reservations() override { return store_->holds_reservations() ? this : nullptr; }
  // Usage that has happened (usage_run.cc).
  void record(const UsageReport& report, std::function<void(const UsageAnswer&)> done) override;
  using Limiter::prepare;
  std::unique_ptr<PreparedCheck> prepare(std::span<const Attribute> attributes) override;
  Status replace(const Rules& rules) override;
  Status reload() override;

  // Requests refused without asking the store.
  std::uint64_t prefilter_hits() const { return prefilter_ == nullptr ? 0 : prefilter_->hits(); }
  // Requests refused by a rule's local_limit.
  std::uint64_t local_denials() const { return local_limits_.denials(); }
  // Times that a rule's policy answered in place of the store.
  std::uint64_t fallbacks(FailurePolicy policy) const { return policies_.answered(policy); }
  // Handles of leases and reservations that this service has not sealed.
  std::uint64_t forged_handles() const { return hold_ids_.forged(); }
  // How calls about leases and reservations have ended.
  const HoldCounts& hold_counts() const { return hold_counts_; }
  // What policies have admitted without the store, and what has become of it. Shared by the engines of one process.
  OutageDebts::Totals outage_totals() const { return debts_ == nullptr ? OutageDebts::Totals() : debts_->totals(); }
  // What was refused because there was too much to do. Shared by the engines of one process.
  const Shedder& shedder() const { return *shedder_; }
  // The limits that rules with `limit: {auto: …}` have found. Shared by the engines of one process.
  const AdaptiveLimits& adaptive() const { return *adaptive_; }
  // What reservations have cost, and how wrong estimates were. Shared by the engines of one process.
  const Estimates& estimates() const { return *estimates_; }
  // Units of work that was told afterwards (a commit, a report of usage, a late charge) that no bucket was charged for,
  // because they were beyond its overdraft.
  std::uint64_t uncharged_units() const { return uncharged_units_.load(std::memory_order_relaxed); }

 private:
  class LaterRun;
  class GroupRun;
  template <typename Call>
  class HoldRun;
  class LeaseRun;
  class ReservationRun;
  class UsageRun;
  class DebtRun;
  class Prepared;

  // True: answered. `may_wait`: the answer may come later.
  template <typename HoldingRun, typename Call>
  bool begin_hold(Call& call, bool may_wait);

  // The stages. decide() walks them; false: the store answers later, and conclude() is the rest.
  // plan() is the first three; false: out of bounds, blocked or shed, and answered.
  [[gnu::always_inline]] bool plan(const Request& request, Action action, const Reading& at, const ActiveRules& rules,
                                   Check& check, Decision& decision) {
    if (!Check::within_bounds(request)) [[unlikely]] {
      refuse_out_of_bounds(request, decision);
      decision.at = at.wall();
      return false;
    }
    if (rules.intake != nullptr && refuse_by_block(request, action, at, rules, decision)) [[unlikely]]
      return false;
    if (rules.set->shedding() != nullptr && action == Action::take) [[unlikely]] {
      if (!plan_unless_shed(request, at, rules, check, decision)) return false;
    } else {
      check.plan(request, at.wall(), rules, rules_.encoder(), with_tags_);
    }
    if (rules.set->has_auto_limits()) [[unlikely]]
      check.use_adaptive_limits(*adaptive_);
    return true;
  }
  bool refuse_by_block(const Request& request, Action action, const Reading& at, const ActiveRules& rules,
                       Decision& decision);
  bool plan_unless_shed(const Request& request, const Reading& at, const ActiveRules& rules, Check& check,
                        Decision& decision);
  // True: refused, answered and published.
  bool shed(const Request& request, const rules::ResolvedNames& names, const Reading& at, const ActiveRules& rules,
            Decision& decision) {
    if (!sheds_) return false;
    const rules::SheddingClasses& classes = *rules.set->shedding();
    const rules::SheddingClasses::Place place = classes.place_of({request, names.ids, names.carried});
    const std::optional<Duration> wait = shedder_->refuse(classes, rules.set->version(), place, at.now);
    return wait && refuse_by_load(request, *wait, at, rules, decision);
  }
  bool refuse_by_load(const Request& request, Duration wait, const Reading& at, const ActiveRules& rules,
                      Decision& decision);
  // Leases and reservations are work until they end. Only where rules bound that.
  void note_open(const HoldStep& step, TimePoint expires, const ActiveRules& rules);
  // What adaptive limits learn from. `at` is the end, by the store's clock.
  void note_completed(const HoldHandle& handle, TimePoint at);
  bool plan(const AdHocCharge& charge, const Allowance* allowance, Check& check, ChargeOutcome& outcome);
  bool decide(Run& run);
  // False: the store was asked again, for a shared bucket, and answers later.
  bool conclude(Run& run);
  // The same, compiled once more for the most common runs: one request by itself, one that takes a hold, and a prepared
  // one, whose decision may still have the rules of the last time.
  enum class Shape : std::uint8_t { any, alone, held, prepared };
  template <Shape kShape>
  bool walk(Run& run);
  template <Shape kShape>
  bool ask_store(Run& run);
  template <Shape kShape>
  bool conclude_as(Run& run);
  enum class Shared : std::uint8_t { answered, later, refused };
  Shared share_buckets(Run& run);
  bool refuse_shared(Run& run);
  void decide_prepared(Run& run);
  bool decide_held(Run& run);
  void refuse_too_many(Run& run);
  // The quota gate (quota_run.cc).
  enum class Gate : std::uint8_t {
    proceed,
    refused,
    later,
    known,  // the id of the lease was used before: the store has answered
  };
  Gate enter_gate(Run& run);
  bool narrow_quotas(Run& run);
  Gate look_for_lease(Run& run);
  Gate lease_looked_for(Run& run);
  Gate repeat_lease(Run& run);
  Gate pass_gate(Run& run);
  void refuse_by_quota(Run& run, std::size_t quota);
  bool continue_quotas(Run& run);
  bool take_strict(Run& run);
  bool others_admit(const Run& run) const;
  void undo_store(Run& run);
  void finish_quotas(Run& run, bool admitted);
  bool take_one_quota(Check& check, Action action, const Reading& at);
  bool decide_quotas_at_once(Check& check, Action action, std::span<Decision> decision, const Reading& at);
  bool refuse_by_prefilter(Run& run);
  bool repeat_denial(Run& run);
  bool refuse_before_quotas(Run& run);
  bool refuse_by_local_limits(Run& run);
  void conclude_each_alone(Run& run);
  void conclude_check(Check& check, const Run& run, Action action, Decision& decision);
  void conclude_failed(Check& check, const Run& run, Action action, Decision& decision);
  // The store answers again: charges it with what policies have admitted (settle_debts.cc).
  void settle_debts();
  void note_outage(const Check& check, const Run& run, Action action, const FailurePolicies::Failed& failed,
                   const Decision& decision);
  void conclude_ad_hoc(Check& check, const Run& run, Action action, ChargeOutcome& outcome);
  void note_uncharged(const Check& check, Decision& decision);
  void learn(const Run& run);
  TimePoint decided_at(const Run& run) const;
  std::string_view source_of(const Run& run) const;
  // Requests whose trace is sampled (traced.cc).
  bool ask_store_traced(Run& run);
  void note_answer(const Run& run) const;
  void show_refused(const Request& request, const Reading& at, const ActiveRules& rules, const Decision& decision,
                    std::string_view block);
  void show_refund(const Check& check, const Run& run, const Decision& decision, Action action);
  void show_change(TracedChange change, DecisionTimes& times);
  // Every decision passes here once. Peeks, refunds and resets decide nothing, so the observers do not see
  // them, except where they are traced.
  // Hidden rules are hidden from callers, not from the observers.
  [[gnu::always_inline]] void publish(const Check& check, const Run& run, Decision& decision, std::string_view source,
                                      Action action, TimePoint wall) {
    decision.source = source;
    decision.at = wall;
    if (action == Action::take) {
      for (const auto& observer : observers_) observer->on_decision(decision);
      if (shows_requests_ | decision.degraded) [[unlikely]]
        show_request(check, run, decision);
    } else if (action != Action::peek) {
      if (run.times() != nullptr) [[unlikely]]
        show_refund(check, run, decision, action);
    }
    if (check.may_have_hidden_rules()) [[unlikely]]
      hide_rules(check, source_, decision);
  }
  void show_request(const Check& check, const Run& run, const Decision& decision);
  RequestContext context_of(const Check& check, const Run& run, const Decision& decision) const;

  // Stores that answer at once.
  // False: some request has to wait for a ledger, and none was decided.
  template <std::size_t N>
  [[nodiscard]] bool decide_at_once(Action action, std::span<const Request> requests, std::span<Decision> decisions,
                                    const Reading& at, const ActiveRules& rules);
  bool begin_as_sent(CheckCall& call, const ActiveRules& rules);
  bool begin_group_as_sent(GroupCall& call, const ActiveRules& rules);
  // The same after the records of tenants have given some requests a plan (intake.cc).
  bool begin_completed(CheckCall& call, const ActiveRules& rules);
  bool begin_group_completed(GroupCall& call, const ActiveRules& rules);
  // One request: itself, or one that lives in `room`.
  static const Request& completed(const Request& request, const ActiveRules& rules, rules::CompletedRequest& room) {
    const bool has_plans = rules.intake != nullptr && rules.intake->plans != nullptr;
    return has_plans ? room.complete(request, *rules.intake->plans) : request;
  }
  [[nodiscard]] bool begin_batch(CheckCall& call, const Reading& at, const ActiveRules& rules);
  void charge_at_once(const AdHocCharge& charge, const Reading& at, ChargeOutcome& outcome);

  // Stores that answer later, and groups that are charged together (later.cc).
  bool begin_later(CheckCall& call);
  bool begin_group_later(GroupCall& call, std::span<const bool> replaced, bool together);
  void start(PendingCall& pending, std::size_t index, const Request& request, Action action, const Reading& at,
             const std::shared_ptr<const ActiveRules>& rules);
  void start(PendingCall& pending, std::size_t index, const AdHocCharge& charge, const Reading& at);
  bool begin_prepared_later(CheckCall& call, const Check& prepared, const Reading& at,
                            const std::shared_ptr<const ActiveRules>& rules);

  // Constant after construction. What the store says of itself is asked once.
  const std::shared_ptr<Store> store_;
  const bool immediate_;
  const bool with_tags_;
  const std::string_view source_;
  const std::shared_ptr<Clock> clock_;
  const std::vector<std::shared_ptr<Observer>> observers_;
  const std::vector<std::shared_ptr<RequestObserver>> request_observers_;
  const bool shows_requests_;  // one of these sees every decision
  const std::shared_ptr<Store> fallback_;
  const std::shared_ptr<OutageDebts> debts_;     // null: the store is this process's own
  const std::shared_ptr<QuotaGate> quota_gate_;  // null: quotas are not answered
  RulesCache rules_;
  FailurePolicies policies_;
  LocalLimits local_limits_;
  HoldIds hold_ids_;
  HoldCounts hold_counts_;
  const std::shared_ptr<Estimates> estimates_;
  const std::shared_ptr<Shedder> shedder_;
  const std::shared_ptr<AdaptiveLimits> adaptive_;
  const bool sheds_;
  std::atomic<std::uint64_t> uncharged_units_{0};
  const std::unique_ptr<Prefilter> prefilter_;  // null: every request reaches the store
};

}  // namespace weir::engine
