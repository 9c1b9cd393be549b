// The quotas of a reservation: held in the ledger before the store is asked, and settled there first. What the ledger
// says decides whether the reservation is open; the store follows.
#include <algorithm>

#include "engine/reservation_run.h"

namespace weir::engine {

// One question to the ledger about the reservation of a handle.
class Engine::ReservationRun::QuotaStep final : public QuotaCall {
 public:
  explicit QuotaStep(ReservationRun& run) : run_(run) {}
  void complete() override { run_.quota_answered(); }

  bool answered = false;
  bool narrowed = false;

 private:
  ReservationRun& run_;
};

Engine::ReservationRun::ReservationRun(Engine& engine, ReservationCall& call, const ActiveRules& rules)
    : HoldRun(engine, call, rules), verb_(call.question.verb) {}
Engine::ReservationRun::~ReservationRun() = default;

// False: refused. Quotas with a cost of their own hold that, the others the amount.
bool Engine::ReservationRun::reserve_quotas() {
  if (quotas == nullptr) return true;
  bool follows = false;
  for (const QuotaCharge& each : quotas->all()) {
    follows = follows || each.follows;
    if (each.follows || (each.cost > 0 && !each.outcome.too_large)) continue;
    return !refuse(HoldFault::invalid, "attributes: the quota " + std::string(each.rule) +
                                           " has a cost of 0, or one that cannot be read, and cannot be reserved");
  }
  if (step_.amount == 0 && follows && !dry_run_) {
    return !refuse(HoldFault::invalid, "amount: is 0, expected at least 1 where a quota applies");
  }
  quotas->reserving = QuotaPart::Reserving{hex_text(step_.id), step_.amount, step_.partial, step_.ttl};
  quotas->actual = step_.actual;
  handle_.quota = true;
  return true;
}

// The ledger first. True: answered.
bool Engine::ReservationRun::settle_quotas() {
  if (engine_.quota_gate_ == nullptr) {
    return refuse(HoldFault::unavailable, "the reservation holds quota, and this server has no ledger");
  }
  quota_step_ = std::make_unique<QuotaStep>(*this);
  QuotaStep& step = *quota_step_;
  using LedgerVerb = QuotaCall::Verb;
  step.verb = LedgerVerb::lookup;
  if (verb_ == Verb::commit) step.verb = LedgerVerb::commit;
  if (verb_ == Verb::release) step.verb = LedgerVerb::release;
  if (verb_ == Verb::extend) step.verb = LedgerVerb::extend;
  step.at = reading();
  step.id = hex_text(handle_.id);
  step.amount = step_.amount;
  step.partial = step_.partial;
  step.actual = step_.actual;
  step.ttl = step_.ttl;
  detach_once(false);
  if (DecisionTimes* const noted = times()) noted->ledger.from = engine_.clock_->wall();
  engine_.quota_gate_->begin(step);
  return false;
}

// The store follows, whatever it remembers, with as much as the ledger has added.
void Engine::ReservationRun::quota_answered() {
  QuotaStep& step = *quota_step_;
  step.answered = true;
  if (DecisionTimes* const noted = times()) noted->ledger.to = engine_.clock_->wall();
  // The handle of a list says that there may be a quota. One that the ledger does not know is the store's alone.
  left_to_store_ = verb_ == Verb::release && step.status == Code::ok && !step.known;
  const bool failed =
      step.status != Code::ok || (!left_to_store_ && (!step.known || !quota_is_as_asked() || step.denial));
  if (failed || step.narrowed || verb_ == Verb::get) return complete();
  if (verb_ == Verb::extend) {
    step_.amount = step.added;
    for (Charge& charge : own_charges_) {
      if (charge.follows) charge.cost = step.added;
    }
  }
  if (ask_store()) complete();
}

void Engine::ReservationRun::complete() {
  if (!narrow_quota()) HoldRun::complete();
}

// The store has added less than the ledger, or nothing: then the ledger takes back its part. True: it is asked to.
bool Engine::ReservationRun::narrow_quota() {
  if (quota_step_ == nullptr || verb_ != Verb::extend) return false;
  QuotaStep& step = *quota_step_;
  const bool extended = step.status == Code::ok && step.known && quota_is_as_asked() && !step.denial;
  if (!extended || step.narrowed || step.added == 0 || status != Code::ok || charges.empty()) return false;
  const bool denied = step_.state == HoldState::none;
  if (!denied && step_.state != HoldState::live) return false;  // it has lost the reservation
  const std::int64_t less = denied ? step.added : std::min(step.granted - step_.granted, step.added);
  if (less <= 0) return false;
  step.narrowed = true;
  step.verb = QuotaCall::Verb::narrow;
  step.amount = less;
  if (!denied) step.before = TimePoint{};
  engine_.quota_gate_->begin(step);
  return true;
}

bool Engine::ReservationRun::quota_is_as_asked() const {
  const QuotaStep& step = *quota_step_;
  if (verb_ == Verb::commit) return step.state == ReservationState::committed;
  if (verb_ == Verb::release) return step.state == ReservationState::released;
  return step.state == ReservationState::open;
}

void Engine::ReservationRun::describe_quota_denial() {
  const QuotaDenial& denial = *quota_step_->denial;
  Decision& decision = call_->answer.decision;
  decision.allowed = false;
  decision.reason = denial.outcome.too_large ? Reason::cost_too_large : Reason::quota_exceeded;
  decision.source = "ledger";
  decision.at = engine_.clock_->wall();
  decision.cost = call_->question.amount.value_or(0);
  decision.retry_after = denial.outcome.retry_after;
  const std::optional<rules::RuleName> name = engine_.rules_.book().names().find(denial.rule);
  if (!name) return;
  decision.deciding = static_cast<std::int32_t>(decision.rules.size());
  RuleOutcome& outcome = decision.rules.append();
  outcome.rule = name->id;
  outcome.ordinal = name->ordinal;
  outcome.kind = ChargeKind::quota;
  outcome.limit = outcome.capacity = denial.limit;
  outcome.cost = decision.cost;
  outcome.allowed = false;
  outcome.too_large = denial.outcome.too_large;
  outcome.remaining = denial.outcome.remaining;
  outcome.retry_after = denial.outcome.retry_after;
  outcome.reset_after = denial.outcome.reset_after;
}

void Engine::ReservationRun::finish_with_quota() {
  const QuotaStep& step = *quota_step_;
  ReservationAnswer& answer = call_->answer;
  if (step.status != Code::ok) {
    refuse(HoldFault::unavailable, "the ledger did not answer; try again: settling twice does no harm");
    return;
  }
  if (status == Code::ok && !charges.empty() && verb_ != Verb::get && quota_is_as_asked() && !step.denial) {
    tell_hold();
    describe_outcomes();
  }
  if (step.denial) describe_quota_denial();
  answer.id = ReservationId(step_.id);
  answer.state = step.known ? step.state : ReservationState::expired;
  answer.granted = step.granted;
  answer.actual = step.actual;
  answer.expires = step.expires;
  answer.replayed = step.replayed;
  answer.returned = std::max(answer.returned, step.returned);
  answer.debt = std::max(answer.debt, step.overage);
  answer.uncharged = std::max(answer.uncharged, step.uncharged);
  if (verb_ == Verb::get || quota_is_as_asked()) {
    if (verb_ == Verb::get && !step.known) {
      refuse(HoldFault::gone, "the reservation is not known");
    }
    return;
  }
  if (answer.state == ReservationState::expired) {
    refuse(HoldFault::gone,
           verb_ == Verb::extend
               ? "the reservation has expired; make another one"
               : "the reservation has expired; report what the work has cost as usage (POST /v1/usage)");
    return;
  }
  refuse(HoldFault::closed, "the reservation was " + std::string(reservation_state_name(answer.state)) +
                                " by another call; nothing has changed");
}

}  // namespace weir::engine
