#include "engine/prepared.h"

#include <cassert>
#include <utility>

#include "engine/waiter.h"
#include "weir/ask.h"

namespace weir::engine {
namespace {

// Copies the texts into one string, and returns the attributes that refer to it.
std::vector<Attribute> keep_attributes(std::span<const Attribute> attributes, std::string& texts) {
  std::size_t bytes = 0;
  for (const Attribute& attribute : attributes) bytes += attribute.name.size() + attribute.value.size();
  texts.reserve(bytes);
  std::vector<Attribute> kept;
  kept.reserve(attributes.size());
  const auto keep = [&](std::string_view text) {
    const std::size_t at = texts.size();
    texts += text;
    return std::string_view(texts.data() + at, text.size());
  };
  for (const Attribute& attribute : attributes) {
    const std::string_view name = keep(attribute.name);
    kept.push_back({name, keep(attribute.value)});
  }
  return kept;
}

// For limiters that are not an Engine: every check is planned by itself.
class PlainCheck final : public PreparedCheck {
 public:
  PlainCheck(Limiter& limiter, std::span<const Attribute> attributes)
      : limiter_(limiter), attributes_(keep_attributes(attributes, texts_)) {}

  const Decision& check(Cost cost) override {
    decision_ = limiter_.check(Request(attributes_, cost));
    return decision_;
  }
  bool begin(CheckCall& call, Cost cost) override {
    assert(call.requests.empty() && call.decisions.size() == 1);
    const Request request(attributes_, cost);
    call.requests = {&request, 1};
    return limiter_.begin(call);
  }

 private:
  Limiter& limiter_;
  std::string texts_;
  const std::vector<Attribute> attributes_;
  Decision decision_;
};

}  // namespace

Engine::Prepared::Prepared(Engine& engine, std::span<const Attribute> attributes)
    : engine_(engine), attributes_(keep_attributes(attributes, texts_)) {}

std::unique_ptr<PreparedCheck> Engine::prepare(std::span<const Attribute> attributes) {
  return std::make_unique<Prepared>(*this, attributes);
}

const Decision& Engine::Prepared::check(Cost cost) {
  if (!engine_.immediate_) return wait_for(cost);
  const Reading at = engine_.clock_->read();
  if (!make_ready(at, cost, decision_)) [[unlikely]]
    return decision_;
  if (check_.has_quotas()) [[unlikely]]
    return wait_for(cost);
  if (!shed(Action::take, at, decision_)) [[likely]]
    decide(Action::take, at, decision_);
  return decision_;
}

const Decision& Engine::Prepared::wait_for(Cost cost) {
  decision_ = Decision();
  BlockingCall<CheckCall> call;
  call.decisions = {&decision_, 1};
  if (!begin(call, cost)) call.wait(engine_);
  return decision_;
}

bool Engine::Prepared::begin(CheckCall& call, Cost cost) {
  assert(call.requests.empty() && call.decisions.size() == 1);
  assert(call.action == Action::take || call.action == Action::peek);
  const Reading at = engine_.clock_->read();
  if (!make_ready(at, cost, call.decisions.front()) || shed(call.action, at, call.decisions.front())) return true;
  if (!engine_.immediate_ || check_.has_quotas()) return engine_.begin_prepared_later(call, check_, at, rules_);
  decide(call.action, at, call.decisions.front());
  return true;
}

[[gnu::always_inline]] inline void Engine::Prepared::decide(Action action, const Reading& at, Decision& decision) {
  run_.action = action;
  run_.set_reading(at);
  run_.local_takes = 0;
  run_.decisions = {&decision, 1};
  // Refusals describe their rule alone in a new decision, and hidden rules are taken out.
  if (check_.may_have_local_limits() || check_.may_have_hidden_rules()) [[unlikely]] {
    decision.rules.clear();
    renew_verdict(decision);
  }
  engine_.decide_prepared(run_);
  // A newcomer may have been counted in a shared bucket this time, and be counted by itself the next time.
  if (check_.may_have_newcomers() && check_.has_shared()) [[unlikely]]
    cost_ = ready_for_ = kNone;
}

[[gnu::always_inline]] inline bool Engine::Prepared::shed(Action action, const Reading& at, Decision& decision) {
  if (!may_be_shed_ || action != Action::take) [[likely]]
    return false;
  decision.rules.clear();
  renew_verdict(decision);
  return engine_.shed(request_, names_, at, *rules_, decision);
}

// Nothing to do but to count the mistakes again, another cost, or another plan.
bool Engine::Prepared::change_plan(const Reading& at, Cost cost, Decision& decision) {
  const bool is_within_bounds = cost.units >= 0 && cost.units <= kMaxUnits;
  const bool adapts = check_.may_have_auto_limits();
  if (cost_ == kNone || !is_current(at) || !is_within_bounds || adapts) return plan_again(at, cost, decision);
  if (cost.units != cost_) {
    // The rules that describe() has left there have the other cost.
    decision_.rules.clear();
    if (!check_.change_cost(cost.units)) return plan_again(at, cost, decision);
    request_.cost = cost;
    cost_ = cost.units;
  }
  ready_for_ = issues_.any() ? kNone : cost_;
  rules_->set->count_again(issues_);
  return true;
}

bool Engine::Prepared::plan_again(const Reading& at, Cost cost, Decision& decision) {
  cost_ = ready_for_ = kNone;
  decision_.rules.clear();
  // Before the rules, so that they are these or later ones.
  version_ = engine_.rules_.book().version();
  rules_ = engine_.rules_.current_shared();
  period_ = kNoPeriod;  // until there is a plan
  may_be_shed_ = rules_->set->shedding() != nullptr;
  check_ = Check();
  const Request sent(attributes_, cost);
  request_ = completed(sent, *rules_, completed_);
  if (!Check::within_bounds(request_)) {
    renew_verdict(decision);
    decision.source = {};
    refuse_out_of_bounds(request_, decision);
    decision.at = at.wall();
    return false;
  }
  if (rules_->intake != nullptr && find_block(*rules_, request_, Action::take, at.wall()) != nullptr) {
    renew_verdict(decision);
    return !engine_.refuse_by_block(request_, Action::take, at, *rules_, decision);
  }
  rules_->set->resolve(request_, names_);
  issues_ = check_.plan(request_, at.wall(), *rules_, engine_.rules_.encoder(), engine_.with_tags_, &names_);
  if (check_.may_have_auto_limits()) check_.use_adaptive_limits(*engine_.adaptive_);
  period_ = rules_->set->period_of(at.wall());
  cost_ = cost.units;
  if (!issues_.any() && !check_.may_have_auto_limits()) ready_for_ = cost_;
  run_.carry(check_, Action::take, at);
  // Of the last store call: if nothing is charged now, the store is not asked, and would not say it again.
  run_.status = Code::ok;
  run_.atomic = true;
  run_.answered = Consistency::exact;
  run_.regional = false;
  return true;
}

}  // namespace weir::engine

namespace weir {

std::unique_ptr<PreparedCheck> Limiter::prepare(std::span<const Attribute> attributes) {
  return std::make_unique<engine::PlainCheck>(*this, attributes);
}

std::unique_ptr<PreparedCheck> Limiter::prepare(std::initializer_list<Attribute> attributes) {
  return prepare(std::span<const Attribute>(attributes.begin(), attributes.size()));
}

void PreparedCheck::check(Cost cost, Completion done) {
  Decision decision;
  const auto later = [&] { return std::move(done); };
  AskedCall<CheckCall, decltype(later)> call(later);
  call.decisions = {&decision, 1};
  if (begin(call, cost)) done(std::as_const(decision));
}

}  // namespace weir
