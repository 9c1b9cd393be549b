// Runs on the heap: those whose store answers later, and groups that are charged together. They walk the same stages
// (engine.cc) as runs on the stack.
#include <memory>
#include <utility>
#include <vector>

#include "engine/ad_hoc.h"
#include "engine/engine.h"
#include "engine/group.h"
#include "engine/pending_call.h"

namespace weir::engine {

// One request or one ad-hoc charge. Owns itself until it is over.
class Engine::LaterRun final : public LastingRun {
 public:
  using LastingRun::adopt_quotas;
  using LastingRun::note_trace;
  LaterRun(Engine& engine, PendingCall& pending, std::size_t index, bool of_charge)
      : engine_(engine), pending_(pending), index_(index), of_charge_(of_charge) {
    pending_.expect();
    bind();
  }

  void detach(bool keep) override {
    outlive_requests(keep);
    pending_.defer();
    bind();
  }
  void complete() override {
    if (engine_.conclude(*this)) finish();
  }
  void finish() {
    const std::unique_ptr<LaterRun> self(this);
    pending_.arrived();
  }

  Check check;
  Allowance allowance;                       // of an ad-hoc charge
  std::shared_ptr<const ActiveRules> rules;  // which the check refers to

 private:
  void bind() {
    if (of_charge_) ad_hoc = pending_.outcomes().subspan(index_, 1);
    if (!of_charge_) decisions = pending_.decisions().subspan(index_, 1);
  }

  Engine& engine_;
  PendingCall& pending_;
  const std::size_t index_;
  const bool of_charge_;
};

// The takes of a group, charged all or none by one store call. Each has a verdict of its own.
class Engine::GroupRun final : public LastingRun {
 public:
  GroupRun(Engine& engine, PendingCall& pending) : engine_(engine), pending_(pending) { pending_.expect(); }

  void plan(const GroupCall& call, std::span<const bool> replaced, const Reading& at,
            std::shared_ptr<const ActiveRules> active);
  void detach(bool keep) override {
    outlive_requests(keep);
    pending_.defer();
  }
  void complete() override {
    if (engine_.conclude(*this)) finish();
  }
  void finish() {
    const std::unique_ptr<GroupRun> self(this);
    for (std::size_t i = 0; i < request_index_.size(); ++i) {
      pending_.decisions()[request_index_[i]] = std::move(own_decisions_[i]);
    }
    for (std::size_t i = 0; i < charge_index_.size(); ++i) pending_.outcomes()[charge_index_[i]] = own_outcomes_[i];
    pending_.arrived();
  }

 private:
  Engine& engine_;
  PendingCall& pending_;
  std::shared_ptr<const ActiveRules> rules_;
  std::vector<Check> own_checks_;
  std::vector<Decision> own_decisions_;
  std::vector<ChargeOutcome> own_outcomes_;
  std::vector<Allowance> allowances_;       // of the ad-hoc charges; never grows after it was reserved
  std::vector<std::size_t> request_index_;  // places in the call
  std::vector<std::size_t> charge_index_;
  CombinedCharges own_charges_;
};

void Engine::GroupRun::plan(const GroupCall& call, std::span<const bool> replaced, const Reading& at,
                            std::shared_ptr<const ActiveRules> active) {
  rules_ = std::move(active);
  set_reading(at);
  for (const Request& request : call.requests) note_trace(request);
  for (std::size_t i = 0; i < call.requests.size(); ++i) {
    if (takes(call, i, replaced)) request_index_.push_back(i);
  }
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    if (call.charges[i].action == Action::take) charge_index_.push_back(i);
  }
  // They came in one call, and so at one time.
  ingress = request_index_.empty() ? call.charges[charge_index_.front()].ingress
                                   : call.requests[request_index_.front()].ingress;
  own_checks_.resize(request_index_.size() + charge_index_.size());
  own_decisions_.resize(request_index_.size());
  own_outcomes_.resize(charge_index_.size());
  allowances_.reserve(charge_index_.size());
  for (std::size_t i = 0; i < request_index_.size(); ++i) {
    engine_.plan(call.requests[request_index_[i]], Action::take, at, *rules_, own_checks_[i], own_decisions_[i]);
  }
  for (std::size_t i = 0; i < charge_index_.size(); ++i) {
    const AdHocCharge& charge = call.charges[charge_index_[i]];
    allowances_.push_back(charge.allowance == nullptr ? Allowance() : *charge.allowance);
    engine_.plan(charge, &allowances_.back(), own_checks_[request_index_.size() + i], own_outcomes_[i]);
  }
  for (const Check& check : own_checks_) {
    own_charges_.add(check);
    // One is denied whatever the buckets say: the others are only checked.
    if (!check.planned()) action = Action::peek;
  }
  checks = own_checks_;
  decisions = own_decisions_;
  ad_hoc = own_outcomes_;
  combined = &own_charges_;
  charges = own_charges_.charges();
  outcomes = own_charges_.outcomes();
  adopt_quotas();
}

void Engine::start(PendingCall& pending, std::size_t index, const Request& request, Action action, const Reading& at,
                   const std::shared_ptr<const ActiveRules>& rules) {
  auto* const run = new LaterRun(*this, pending, index, false);
  run->rules = rules;
  run->set_reading(at);
  run->note_trace(request);
  if (plan(request, effective_action(action, request), at, *rules, run->check, run->decisions.front())) {
    run->carry(run->check, effective_action(action, request), at);
    run->once = request.once;
    run->past_prefilter = bool(request.once);
    run->adopt_quotas();
    run->ingress = request.ingress;
    if (!decide(*run)) return;
  }
  run->finish();
}

void Engine::start(PendingCall& pending, std::size_t index, const AdHocCharge& charge, const Reading& at) {
  auto* const run = new LaterRun(*this, pending, index, true);
  if (charge.allowance != nullptr) run->allowance = *charge.allowance;
  if (plan(charge, &run->allowance, run->check, run->ad_hoc.front())) {
    run->carry(run->check, charge.action, at);
    run->ingress = charge.ingress;
    if (!decide(*run)) return;
  }
  run->finish();
}

bool Engine::begin_later(CheckCall& call) {
  auto* const pending = new PendingCall(call);  // owns itself
  const Reading at = clock_->read();
  const std::shared_ptr<const ActiveRules> rules = rules_.current_shared();
  for (std::size_t i = 0; i < call.requests.size(); ++i) start(*pending, i, call.requests[i], call.action, at, rules);
  return pending->settle();
}

bool Engine::begin_prepared_later(CheckCall& call, const Check& prepared, const Reading& at,
                                  const std::shared_ptr<const ActiveRules>& rules) {
  auto* const pending = new PendingCall(call);  // owns itself
  auto* const run = new LaterRun(*this, *pending, 0, false);
  run->rules = rules;
  run->check = prepared;
  run->carry(run->check, call.action, at);
  run->adopt_quotas();
  if (decide(*run)) run->finish();
  return pending->settle();
}

bool Engine::begin_group_later(GroupCall& call, std::span<const bool> replaced, bool together) {
  auto* const pending = new PendingCall(call);  // owns itself
  const Reading at = clock_->read();
  const std::shared_ptr<const ActiveRules> rules = rules_.current_shared();
  if (together) {
    auto* const run = new GroupRun(*this, *pending);
    run->plan(call, replaced, at, rules);
    if (decide(*run)) run->finish();
  }
  for (std::size_t i = 0; i < call.requests.size(); ++i) {
    if (replaced[i] || (together && takes(call, i, replaced))) continue;
    start(*pending, i, call.requests[i], action_of(call, i), at, rules);
  }
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    if (together && call.charges[i].action == Action::take) continue;
    start(*pending, i, call.charges[i], at);
  }
  return pending->settle();
}

}  // namespace weir::engine
