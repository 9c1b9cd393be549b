// Several requests and ad-hoc charges in one decision: charged all or none, by one store call.
//
// Each request is planned as a check of its own; the charges of all of them go to the store together, and its outcomes
// go back to the checks, each of which then has its own verdict. Buckets that several of them charge are charged once,
// with the sum of the costs: a store call may name no bucket twice.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/ad_hoc.h"
#include "engine/engine.h"
#include "engine/stages/verdict.h"

namespace weir::engine {
namespace {

// A view of one check in a call that charged several.
class PartialCall final : public StoreCall {
 public:
  void complete() override {}
};

bool has_several_allowances(const rules::Match& match) {
  return !match.rule->source.plans.empty() || !match.rule->source.overrides.empty();
}

}  // namespace

class Engine::TogetherCall final : public StoreCall {
 public:
  TogetherCall(Engine& engine, Together done) : engine_(engine), done_(std::move(done)) {}

  void plan(std::span<const Request> requests, std::span<const AdHocCharge> wanted, const Reading& at);
  // False: answered already, and charged nothing.
  bool may_ask_store();
  void complete() override;
  void answer() { done_(decisions_, ad_hoc_outcomes_); }

 private:
  void add(const Charge& charge);
  bool refuse_what_cannot_be_asked();
  bool refuse_by_local_limits();
  bool lacks_room() const;
  void decide_each_alone();
  void hand_out_outcomes();
  void finish_check(std::size_t index, bool denied);
  void finish_ad_hoc(std::size_t index, bool denied);
  void learn();

  Engine& engine_;
  const Together done_;
  std::shared_ptr<const RulesInForce> rules_;
  std::vector<Check> checks_;  // one for each request; empty for one that is out of bounds
  std::vector<Decision> decisions_;
  std::vector<Allowance> allowances_;  // of the ad-hoc charges; never grows after plan()
  std::vector<Charge> ad_hoc_;
  std::vector<ChargeOutcome> ad_hoc_outcomes_;
  std::vector<Charge> merged_;  // what the store is asked: no bucket twice
  std::vector<ChargeOutcome> merged_outcomes_;
  std::vector<std::size_t> places_;  // for each charge of the checks, then of the ad-hoc ones: its place in merged_
  Prefilter::Stamp asked_;
  std::size_t local_takes_ = 0;  // of so many checks, the first ones, the local limits are taken
  bool out_of_bounds_ = false;
};

void Engine::TogetherCall::plan(std::span<const Request> requests, std::span<const AdHocCharge> wanted,
                                const Reading& at) {
  set_reading(at);
  // They came in one call, and so at one time.
  if (!requests.empty()) ingress = requests.front().ingress;
  if (requests.empty() && !wanted.empty()) ingress = wanted.front().ingress;
  rules_ = engine_.rules_.current_shared();
  checks_.resize(requests.size());
  decisions_.resize(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!Check::within_bounds(requests[i])) {
      refuse_out_of_bounds(requests[i], decisions_[i]);
      out_of_bounds_ = true;
      continue;
    }
    checks_[i].plan(requests[i], at.wall(), *rules_, engine_.rules_.encoder(), engine_.with_tags_);
    for (const Charge& charge : checks_[i].charges()) add(charge);
  }
  allowances_.reserve(wanted.size());
  ad_hoc_outcomes_.resize(wanted.size());
  for (const AdHocCharge& each : wanted) {
    allowances_.push_back(*each.allowance);
    ad_hoc_.push_back(make_ad_hoc_charge(each, allowances_.back(), engine_.rules_.encoder()));
    add(ad_hoc_.back());
  }
  merged_outcomes_.resize(merged_.size());
  charges = merged_;
  outcomes = merged_outcomes_;
}

// Where two of them disagree about the bucket's numbers, the smaller limit holds for both.
void Engine::TogetherCall::add(const Charge& charge) {
  const auto known =
      std::find_if(merged_.begin(), merged_.end(), [&](const Charge& other) { return other.key == charge.key; });
  places_.push_back(static_cast<std::size_t>(known - merged_.begin()));
  if (known == merged_.end()) return merged_.push_back(charge);
  known->cost = std::min(known->cost + charge.cost, kMaxUnits);
  known->count_denied = known->count_denied || charge.count_denied;
  known->binding = known->binding || charge.binding;
  if (charge.allowance->limit < known->allowance->limit) known->allowance = charge.allowance;
}

bool Engine::TogetherCall::may_ask_store() {
  if (refuse_what_cannot_be_asked() || refuse_by_local_limits()) return false;
  // The prefilter is not asked: what one bucket is known to answer says nothing of the others.
  if (engine_.prefilter_ != nullptr) asked_ = engine_.prefilter_->stamp(merged_, now, skew());
  return true;
}

bool Engine::TogetherCall::refuse_what_cannot_be_asked() {
  if (merged_.size() > kMaxCharges) {
    for (std::size_t i = 0; i < checks_.size(); ++i) engine_.refuse_too_many(checks_[i], decisions_[i]);
    for (ChargeOutcome& outcome : ad_hoc_outcomes_) outcome.admitted = false;
    return true;
  }
  // One is denied whatever the buckets say: the others are only looked at.
  if (out_of_bounds_) action = Action::peek;
  return false;
}

bool Engine::TogetherCall::refuse_by_local_limits() {
  if (action != Action::take) return false;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    if (!checks_[i].may_have_local_limits()) continue;
    const LocalLimits::Answer local = engine_.local_limits_.ask(checks_[i], Action::take, reading());
    if (local.denied) {
      for (std::size_t earlier = 0; earlier < i; ++earlier)
        engine_.local_limits_.give_back(checks_[earlier], reading());
      engine_.refuse_one(checks_[i], *local.denied, local.outcome, "local", decisions_[i]);
      return true;
    }
    local_takes_ = i + 1;
  }
  return false;
}

// The store had no room for some bucket, and so charged none.
bool Engine::TogetherCall::lacks_room() const {
  return status == Code::ok && std::any_of(outcomes.begin(), outcomes.end(),
                                           [](const ChargeOutcome& outcome) { return outcome.status != Code::ok; });
}

void Engine::TogetherCall::complete() {
  const std::unique_ptr<TogetherCall> self(this);
  if (lacks_room() && engine_.immediate_) {
    decide_each_alone();
    return answer();
  }
  learn();
  hand_out_outcomes();
  const bool answered = status == Code::ok;
  bool denied = out_of_bounds_;
  for (std::size_t i = 0; answered && i < charges.size(); ++i) {
    denied = denied || (charges[i].binding && !outcomes[i].admitted);
  }
  for (std::size_t i = 0; i < checks_.size(); ++i) finish_check(i, denied);
  for (std::size_t i = 0; i < ad_hoc_.size(); ++i) finish_ad_hoc(i, denied);
  if (denied) {
    for (std::size_t i = 0; i < local_takes_; ++i) engine_.local_limits_.give_back(checks_[i], reading());
  }
  answer();
}

// Failure policies answer for one check at a time, and so does a store without room.
void Engine::TogetherCall::decide_each_alone() {
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    if (decisions_[i].reason != Reason::no_rule) continue;  // refused in plan()
    PartialCall part;
    part.action = action;
    part.set_reading(reading());
    part.charges = checks_[i].charges();
    part.outcomes = checks_[i].outcomes();
    if (!part.charges.empty()) engine_.ask_now(part);
    engine_.finish_one(checks_[i], part, decisions_[i]);
  }
  for (std::size_t i = 0; i < ad_hoc_.size(); ++i) {
    PartialCall part;
    part.action = action;
    part.set_reading(reading());
    part.charges = {&ad_hoc_[i], 1};
    part.outcomes = {&ad_hoc_outcomes_[i], 1};
    engine_.ask_now(part);
    status = part.status;
    finish_ad_hoc(i, false);
  }
}

void Engine::TogetherCall::hand_out_outcomes() {
  std::size_t place = 0;
  for (Check& check : checks_) {
    for (ChargeOutcome& outcome : check.outcomes()) outcome = merged_outcomes_[places_[place++]];
  }
  for (ChargeOutcome& outcome : ad_hoc_outcomes_) outcome = merged_outcomes_[places_[place++]];
}

// An admitted request that was not charged because another is denied decides nothing, so no one counts it.
void Engine::TogetherCall::finish_check(std::size_t index, bool denied) {
  Check& check = checks_[index];
  if (decisions_[index].reason != Reason::no_rule) return;  // refused in plan()
  bool own = false;
  for (std::size_t i = 0; i < check.charges().size(); ++i) {
    own = own || (check.charges()[i].binding && !check.outcomes()[i].admitted);
  }
  PartialCall part;
  part.action = denied && !own ? Action::peek : action;
  part.set_reading(reading());
  part.charges = check.charges();
  part.outcomes = check.outcomes();
  part.status = status;
  part.atomic = atomic;
  engine_.finish_one(check, part, decisions_[index]);
}

void Engine::TogetherCall::finish_ad_hoc(std::size_t index, bool denied) {
  ChargeOutcome& outcome = ad_hoc_outcomes_[index];
  if (status != Code::ok) outcome.status = status;
  const bool decides = !denied || !outcome.admitted;
  if (action != Action::take || !decides) return;
  for (const auto& observer : engine_.observers_) observer->on_charge(ad_hoc_[index].rule, outcome);
}

// As Engine::learn() does for one check; what is forgotten in vain only costs the store a question.
void Engine::TogetherCall::learn() {
  Prefilter* const prefilter = engine_.prefilter_.get();
  if (prefilter == nullptr || action != Action::take) return;
  if (!atomic) prefilter->forget(merged_);
  if (status != Code::ok) return;
  prefilter->remember(merged_, merged_outcomes_, asked_);
  for (const Check& check : checks_) {
    std::size_t charge = 0;
    for (const rules::Match& match : check.matches()) {
      if (match.allowance == nullptr) continue;
      if (has_several_allowances(match)) prefilter->forget(check.charges().subspan(charge, 1));
      ++charge;
    }
  }
}

void Engine::check_together(std::span<const Request> requests, std::span<const AdHocCharge> charges, Together done) {
  auto call = std::make_unique<TogetherCall>(*this, std::move(done));
  call->plan(requests, charges, clock_->read());
  if (!call->may_ask_store()) return call->answer();
  TogetherCall* const pending = call.release();  // owns itself until complete()
  if (pending->charges.empty() || store_->begin(*pending)) pending->complete();
}

}  // namespace weir::engine
