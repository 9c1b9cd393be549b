// Engine: the Limiter. One check, in order (engine.cc): rules → charges → what is known without the store (prefilter,
// local limits) → one store call → failure policies if the store did not answer → verdict → observers.
//
// Several engines may share one RuleBook and one thread-safe store: a server has one engine per loop, each with its
// own connections to the store. Engines whose stores are the same in the end must share their BucketGenerations.
#pragma once

#include <memory>
#include <vector>

#include "engine/check.h"
#include "engine/rules_in_force.h"
#include "engine/stages/failure_policy.h"
#include "engine/stages/local_limit.h"
#include "engine/stages/prefilter.h"
#include "rules/rule_book.h"
#include "weir/limiter.h"

namespace weir::engine {

class Engine final : public Limiter {
 public:
  // options.store, options.clock and options.hash_key must be set; `fallback` counts while the store fails, and must
  // answer at once. `generations`: null if no other engine counts in the same store.
  Engine(std::shared_ptr<rules::RuleBook> book, LimiterOptions options, std::shared_ptr<Store> fallback,
         std::shared_ptr<BucketGenerations> generations = nullptr);

  bool immediate() const override { return immediate_; }
  Decision check(const Request& request) override;
  void check(const Request& request, Completion done) override;
  void check_batch(std::span<const Request> requests, std::span<Decision> decisions) override;
  Decision refund(const Request& request) override;
  void refund(const Request& request, Completion done) override;
  Decision reset(const Request& request) override;
  ChargeOutcome charge(const AdHocCharge& charge) override;
  void charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) override;
  Status replace(const Rules& rules) override;
  Status reload() override;

  // Decides several requests and ad-hoc charges as one: each is admitted or denied by its own rules, and if any is
  // denied none is charged; denials that count (count_denied) still do. All of them are takes, and the ad-hoc ones
  // within their bounds. `done` runs once, now or later; the answers are in the order of the requests and charges, and
  // live during the call. Rules whose store does not answer decide each for itself.
  using Together = std::function<void(std::span<const Decision>, std::span<const ChargeOutcome>)>;
  void check_together(std::span<const Request> requests, std::span<const AdHocCharge> charges, Together done);

  // Marks the requests of one call from Envoy whose rule is replaced by that of another (RuleSet::find_replaced).
  void find_replaced(std::span<const Request> requests, std::span<bool> replaced);

  // Requests refused without asking the store.
  std::uint64_t prefilter_hits() const { return prefilter_ == nullptr ? 0 : prefilter_->hits(); }
  // Requests refused by a rule's local_limit.
  std::uint64_t local_denials() const { return local_limits_.denials(); }
  // Times that a rule's policy answered in place of the store.
  std::uint64_t fallbacks(FailurePolicy policy) const { return policies_.answered(policy); }

 private:
  class InlineCall;
  class DeferredCall;
  class TogetherCall;

  Decision run(Action action, const Request& request);
  void run(Action action, const Request& request, Completion done);
  // With a store that answers at once: the rest of a check after plan().
  void decide_now(Check& check, Action action, const Reading& at, Decision& decision);
  void decide_behind_local_limits(Check& check, StoreCall& call, Decision& decision);
  void ask_now(StoreCall& call);
  void finish(Check& check, StoreCall& call, Decision& decision);
  void finish_failed(Check& check, StoreCall& call, Decision& decision);
  void publish(const Check& check, Decision& decision, std::string_view source, Action action);
  // For calls that decide several checks: the end of one of them.
  void finish_one(Check& check, StoreCall& call, Decision& decision);
  void refuse_one(const Check& check, std::size_t charge, const ChargeOutcome& outcome, std::string_view source,
                  Decision& decision);
  void refuse_too_many(const Check& check, Decision& decision);
  void learn(const Check& check, const StoreCall& call, const Prefilter::Stamp& asked);

  // Constant after construction. What the store says of itself is asked once.
  const std::shared_ptr<Store> store_;
  const bool immediate_;
  const bool with_tags_;
  const std::string_view source_;
  const std::shared_ptr<Clock> clock_;
  const std::vector<std::shared_ptr<Observer>> observers_;
  const std::shared_ptr<Store> fallback_;
  RulesCache rules_;
  FailurePolicies policies_;
  LocalLimits local_limits_;
  const std::unique_ptr<Prefilter> prefilter_;  // null: every request reaches the store
};

}  // namespace weir::engine
