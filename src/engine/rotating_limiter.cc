#include "engine/rotating_limiter.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/group.h"
#include "engine/pending_call.h"
#include "engine/rotated_request.h"

namespace weir::engine {
namespace {

// A charge that outlives the call that brought it.
class KeptCharge {
 public:
  explicit KeptCharge(const AdHocCharge& charge) : space_(charge.space), charge_(charge) {
    for (const std::string_view part : charge.subject) parts_.emplace_back(part);
    for (const std::string& part : parts_) subject_.push_back(part);
    charge_.space = space_;
    charge_.subject = subject_;
    if (charge.allowance == nullptr) return;
    allowance_ = *charge.allowance;
    charge_.allowance = &allowance_;
  }
  KeptCharge(const KeptCharge&) = delete;
  KeptCharge& operator=(const KeptCharge&) = delete;

  const AdHocCharge& charge() const { return charge_; }

 private:
  std::string space_;
  Allowance allowance_;
  std::vector<std::string> parts_;
  std::vector<std::string_view> subject_;
  AdHocCharge charge_;
};

bool is_admitted(const ChargeOutcome& outcome) { return outcome.status == Code::ok && outcome.admitted; }

// One call on its way through both limiters: decide under the previous key, charge under the current one, give back
// what only the previous one admitted. Owns itself; each step may be answered later.
class Rotation final : public GroupCall {
 public:
  Rotation(AdHocLimiter& before, AdHocLimiter& after, PendingCall& pending)
      : before_(before), after_(after), pending_(pending) {
    pending_.expect();
  }

  void start(const CheckCall& call, const GroupCall* group);
  Rotation& defer() override;
  void complete() override { (this->*next_)(); }

 private:
  using Step = void (Rotation::*)();

  bool is_taken_back() const;
  void ask(AdHocLimiter& limiter, std::span<const Request> of, Step next);
  void decided();
  void charged();
  void finish();

  AdHocLimiter& before_;
  AdHocLimiter& after_;
  PendingCall& pending_;
  Step next_ = nullptr;
  bool kept_ = false;
  std::vector<RotatedRequest> rotated_;
  std::vector<Request> previous_requests_;
  std::vector<Request> current_requests_;
  std::vector<std::unique_ptr<const KeptCharge>> kept_charges_;
  std::vector<AdHocCharge> own_charges_;
  std::vector<Action> wanted_;          // of the requests
  std::vector<Action> wanted_charges_;  // of the charges
  std::vector<Action> own_actions_;     // of the step
  std::vector<Decision> own_decisions_;
  std::vector<ChargeOutcome> own_outcomes_;
  std::vector<Decision> answers_;
  std::vector<ChargeOutcome> outcome_answers_;
};

void Rotation::start(const CheckCall& call, const GroupCall* group) {
  rotated_.reserve(call.requests.size());
  for (const Request& request : call.requests) rotated_.emplace_back(request);
  for (const RotatedRequest& each : rotated_) {
    previous_requests_.push_back(each.previous);
    current_requests_.push_back(each.current);
  }
  for (std::size_t i = 0; i < call.requests.size(); ++i) {
    wanted_.push_back(group != nullptr ? action_of(*group, i) : effective_action(call.action, call.requests[i]));
  }
  if (group != nullptr) {
    own_charges_.assign(group->charges.begin(), group->charges.end());
    for (const AdHocCharge& charge : own_charges_) wanted_charges_.push_back(charge.action);
    all_or_none = group->all_or_none;
    replaces = group->replaces;
  }
  own_actions_ = wanted_;
  ask(before_, previous_requests_, &Rotation::decided);
}

// The step's answers come later, so from now on nothing of the caller's may be referred to.
Rotation& Rotation::defer() {
  if (std::exchange(kept_, true)) return *this;
  for (std::size_t i = 0; i < rotated_.size(); ++i) {
    rotated_[i].keep();
    previous_requests_[i] = rotated_[i].previous;
    current_requests_[i] = rotated_[i].current;
  }
  for (AdHocCharge& charge : own_charges_) {
    kept_charges_.push_back(std::make_unique<const KeptCharge>(charge));
    charge = kept_charges_.back()->charge();
  }
  pending_.defer();
  return *this;
}

void Rotation::ask(AdHocLimiter& limiter, std::span<const Request> of, Step next) {
  next_ = next;
  own_decisions_.assign(of.size(), Decision());
  own_outcomes_.assign(own_charges_.size(), ChargeOutcome());
  requests = of;
  actions = own_actions_;
  charges = own_charges_;
  decisions = own_decisions_;
  outcomes = own_outcomes_;
  if (limiter.begin_group(*this)) (this->*next)();
}

// True: of the takes of the step, one was denied and so all are undone.
bool Rotation::is_taken_back() const {
  if (!all_or_none) return false;
  for (std::size_t i = 0; i < own_actions_.size(); ++i) {
    if (own_actions_[i] == Action::take && !own_decisions_[i].allowed) return true;
  }
  for (std::size_t i = 0; i < own_charges_.size(); ++i) {
    if (own_charges_[i].action == Action::take && !is_admitted(own_outcomes_[i])) return true;
  }
  return false;
}

// Charges under the current key what the previous one admitted; the rest is only checked, so that requests that are
// replaced stay so.
void Rotation::decided() {
  const bool taken_back = is_taken_back();
  bool anything = false;
  for (std::size_t i = 0; i < own_actions_.size(); ++i) {
    const bool held_back = wanted_[i] == Action::take && (taken_back || !own_decisions_[i].allowed);
    if (held_back) own_actions_[i] = Action::peek;
    anything = anything || own_actions_[i] != Action::peek;
  }
  for (std::size_t i = 0; i < own_charges_.size(); ++i) {
    const bool held_back = (taken_back && wanted_charges_[i] == Action::take) || !is_admitted(own_outcomes_[i]);
    if (held_back) own_charges_[i].action = Action::peek;
    anything = anything || own_charges_[i].action != Action::peek;
  }
  answers_ = std::move(own_decisions_);
  outcome_answers_ = std::move(own_outcomes_);
  if (!anything) return finish();
  ask(after_, current_requests_, &Rotation::charged);
}

// Gives back under the previous key what the current one denied, and answers with that denial.
void Rotation::charged() {
  const bool taken_back = is_taken_back();
  bool anything = false;
  for (std::size_t i = 0; i < own_actions_.size(); ++i) {
    const bool undone = own_actions_[i] == Action::take && (taken_back || !own_decisions_[i].allowed);
    if (undone) answers_[i] = std::move(own_decisions_[i]);
    own_actions_[i] = undone ? Action::refund : Action::peek;
    anything = anything || undone;
  }
  for (std::size_t i = 0; i < own_charges_.size(); ++i) {
    const bool undone = own_charges_[i].action == Action::take && (taken_back || !is_admitted(own_outcomes_[i]));
    if (undone) outcome_answers_[i] = own_outcomes_[i];
    own_charges_[i].action = undone ? Action::refund : Action::peek;
    anything = anything || undone;
  }
  if (!anything) return finish();
  ask(before_, previous_requests_, &Rotation::finish);
}

void Rotation::finish() {
  const std::unique_ptr<Rotation> self(this);
  std::move(answers_.begin(), answers_.end(), pending_.decisions().begin());
  if (!outcome_answers_.empty()) {
    std::copy(outcome_answers_.begin(), outcome_answers_.end(), pending_.outcomes().begin());
  }
  pending_.arrived();
}

template <typename Call>
bool rotate(Limiter& previous, Limiter& current, Call& call, const GroupCall* group) {
  auto* const pending = new PendingCall(call);                                           // owns itself
  auto* const rotation = new Rotation(*previous.ad_hoc(), *current.ad_hoc(), *pending);  // likewise
  rotation->start(call, group);
  return pending->settle();
}

}  // namespace

bool RotatingLimiter::begin(CheckCall& call) { return rotate(previous_, current_, call, nullptr); }

bool RotatingLimiter::begin_group(GroupCall& call) { return rotate(previous_, current_, call, &call); }

}  // namespace weir::engine
