// HoldRun: what a question about leases (lease_run.h) and one about reservations (reservation_run.h) have in common on
// their way. Taking a hold walks the stages of every check (engine.cc); the others go to the store alone, with the
// charges that a handle has or that a request leads to.
//
// Lives on the stack when the store answers at once, on the heap when it answers later; then it owns itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/hold_handle.h"
#include "engine/run.h"

namespace weir::engine {

// Such as "30000 ms".
std::string ttl_text(Duration ttl);
// What is wrong with it; empty: nothing.
std::string check_hold_ttl(Duration ttl);
std::string check_hold_id(std::string_view id);

// 32 digits.
std::string hex_text(const BucketKey& key);

void hold_to_charge(const HeldCharge& held, Charge& charge);
void charge_to_hold(const Charge& charge, HeldCharge& held);

template <typename Call>
class Engine::HoldRun : public LastingRun {
 public:
  // `rules` are those of this moment, and live as long as the run does not leave the stack.
  HoldRun(Engine& engine, Call& call, const ActiveRules& rules) : engine_(engine), call_(&call), rules_(&rules) {
    hold = &step_;
    set_reading(engine_.clock_->read());
    step_.at = now;
  }
  virtual ~HoldRun() = default;
  HoldRun(const HoldRun&) = delete;
  HoldRun& operator=(const HoldRun&) = delete;

  // For a run on the heap.
  void keep_rules(std::shared_ptr<const ActiveRules> rules) {
    kept_rules_ = std::move(rules);
    rules_ = kept_rules_.get();
  }
  bool deferred() const { return deferred_; }
  Call& call() { return *call_; }

  void detach(bool keep) override {
    outlive_requests(keep);
    call_ = &call_->defer();
    deferred_ = true;
    decisions = {&call_->answer.decision, 1};
  }
  void complete() override {
    if (decides() && !engine_.conclude(*this)) return;
    const std::unique_ptr<HoldRun> self(this);
    end();
    count();
    call_->complete();
  }
  // Once, when the question is answered.
  void count() {
    using Result = HoldCounts::Result;
    const std::optional<HoldCounts::Call> counted = counted_as();
    if (!counted) return;
    Result result = call_->answer.decision.allowed ? Result::done : Result::denied;
    if (call_->answer.fault != HoldFault::none) result = Result::refused;
    if (call_->answer.fault == HoldFault::unavailable) result = Result::unavailable;
    engine_.hold_counts_.count(*counted, result);
  }

 protected:
  // The question takes a hold, and so is decided like a check.
  virtual bool decides() const = 0;
  // The store has answered: makes the answer.
  virtual void finish() = 0;
  // Of a question that changes a hold, for its span. Empty: it has none.
  virtual std::string_view change_name() const = 0;

  // Nothing: it only looks.
  virtual std::optional<HoldCounts::Call> counted_as() const = 0;

  // finish(), and what is shown of it.
  void end() {
    DecisionTimes* const times = this->times();
    if (times != nullptr && times->store.from != TimePoint{} && times->store.to == TimePoint{}) {
      times->store.to = engine_.clock_->wall();
    }
    finish();
    if (times == nullptr || change_name().empty()) return;
    engine_.show_change({.name = change_name(),
                         .source = engine_.source_,
                         .failed = call_->answer.fault == HoldFault::unavailable,
                         .cost = step_.actual,
                         .trace = trace(),
                         .times = *times},
                        *times);
  }

  // True, because it is answered.
  bool refuse(HoldFault fault, std::string message) {
    call_->answer.fault = fault;
    call_->answer.message = std::move(message);
    return true;
  }
  // False: refused.
  bool check_ttl(Duration ttl) { return accept(ttl == Duration::zero() ? std::string() : check_hold_ttl(ttl)); }
  bool check_id(std::string_view id) { return id.empty() || accept(check_hold_id(id)); }

  // Plans what the request asks for. False: answered.
  bool plan(Action wanted) {
    const Request* request = &call_->question.request;
    if (rules_->intake != nullptr && rules_->intake->plans != nullptr) [[unlikely]] {
      completed_ = std::make_unique<rules::CompletedRequest>();
      request = &completed_->complete(*request, *rules_->intake->plans);
    }
    once = request->once;
    note_trace(*request);
    return engine_.plan(*request, wanted, reading(), *rules_, check_, call_->answer.decision);
  }
  // Through the stages. True: answered.
  bool decide() {
    ingress = call_->question.request.ingress;
    decisions = {&call_->answer.decision, 1};
    // A store that answers at once decides a hold like a check by itself.
    const bool alone = engine_.immediate_ && quotas == nullptr && times() == nullptr;
    if (!(alone ? engine_.decide_held(*this) : engine_.decide(*this))) return false;
    finish();
    return true;
  }
  // The charges of a handle, or of a list, go to the store alone. True: answered.
  bool ask() {
    if (!ask_store()) return false;
    end();
    return true;
  }
  bool ask_store() {
    own_outcomes_.resize(own_charges_.size());
    charges = {own_charges_.data(), own_charges_.size()};
    outcomes = {own_outcomes_.data(), own_outcomes_.size()};
    if (charges.empty()) return true;
    if (!engine_.immediate_) detach_once(false);
    if (DecisionTimes* const times = this->times()) times->store.from = engine_.clock_->wall();
    return engine_.store_->begin(*this);
  }
  bool open_handle(HoldHandle::Use use) {
    note_trace(call_->question.request);
    return engine_.hold_ids_.open(call_->question.handle, use, handle_bytes_, handle_);
  }
  void note_open() { engine_.note_open(step_, now + (step_.expires - step_.at), *rules_); }
  bool is_stored() const { return step_.state == HoldState::taken || step_.state == HoldState::live; }

  // Gives a charge of the handle the name that its rule has in this process. False: this node has never loaded it.
  bool has_name(HeldCharge& held) {
    if (held.ordinal != HeldCharge::kNotNamed) return true;
    const std::optional<rules::RuleName> name = engine_.rules_.book().names().find(held.rule);
    if (!name) return false;
    held.rule = name->id;
    held.ordinal = name->ordinal;
    return true;
  }
  // A rule of the answer's decision, by the numbers that the hold was made under. Null: this node has never loaded it.
  // Of the charges of the handle, which come first.
  RuleOutcome* describe_rule(std::size_t charge) {
    const Charge& from = charges[charge];
    HeldCharge& held = handle_.charges[charge];
    if (!has_name(held)) return nullptr;
    const ChargeOutcome& told = outcomes[charge];
    RuleOutcome& outcome = call_->answer.decision.rules.append();
    outcome.rule = held.rule;
    outcome.ordinal = held.ordinal;
    outcome.subject = from.key;
    outcome.kind = from.kind;
    outcome.mode = from.binding ? Mode::enforce : Mode::shadow;
    outcome.limit = outcome.capacity = from.allowance->limit;
    outcome.cost = from.cost;
    outcome.remaining = told.remaining;
    outcome.reset_after = told.reset_after;
    return &outcome;
  }

  Engine& engine_;
  Call* call_;
  const ActiveRules* rules_;  // which the check refers to
  bool deferred_ = false;
  HoldStep step_;
  Check check_;
  HandleBytes handle_bytes_;
  HoldHandle handle_;
  InlineVector<Charge, 4> own_charges_;  // of a handle, or of a list
  InlineVector<ChargeOutcome, 4> own_outcomes_;
  std::vector<ListedHold> listed_;

 private:
  bool accept(std::string wrong) { return wrong.empty() || !refuse(HoldFault::invalid, std::move(wrong)); }

  std::shared_ptr<const ActiveRules> kept_rules_;
  std::unique_ptr<rules::CompletedRequest> completed_;  // where tenants have plans
};

// True: answered.
template <typename HoldingRun, typename Call>
bool Engine::begin_hold(Call& call, bool may_wait) {
  const ActiveRules& rules = rules_.current();
  if (!may_wait && !rules.set->has_quotas()) {
    HoldingRun run(*this, call, rules);
    const bool answered = run.start();
    if (answered) run.count();
    return answered;
  }
  auto run = std::make_unique<HoldingRun>(*this, call, rules);
  run->keep_rules(rules_.current_shared());
  if (!run->start()) {
    static_cast<void>(run.release());  // owns itself until it is completed
    return false;
  }
  run->count();
  if (!run->deferred()) return true;
  run->call().complete();
  return false;
}

}  // namespace weir::engine
