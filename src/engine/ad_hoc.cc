// Buckets without a rule: the caller brings the allowance.
#include <utility>

#include "engine/ad_hoc.h"
#include "engine/engine.h"
#include "engine/waiter.h"

namespace weir::engine {
namespace {

using keys::KeyEncoder;
using keys::SipHash;

using Observers = std::vector<std::shared_ptr<Observer>>;

class AdHocCall final : public StoreCall {
 public:
  AdHocCall(const AdHocCharge& from, const KeyEncoder& encoder, const Reading& at, const Observers& observers)
      : observers_(observers), allowance_(*from.allowance) {
    charge_ = make_ad_hoc_charge(from, allowance_, encoder);
    action = from.action;
    set_reading(at);
    ingress = from.ingress;
    charges = {&charge_, 1};
    outcomes = {&outcome_, 1};
  }

  void complete() override {
    const std::unique_ptr<AdHocCall> self(this);
    done(finish());
  }

  // Once, when the store has answered.
  const ChargeOutcome& finish() {
    if (status != Code::ok) outcome_.status = status;
    if (action == Action::take) {
      for (const auto& observer : observers_) observer->on_charge(charge_.rule, outcome_);
    }
    return outcome_;
  }

  std::function<void(const ChargeOutcome&)> done;

 private:
  const Observers& observers_;
  const Allowance allowance_;
  Charge charge_;
  ChargeOutcome outcome_;
};

ChargeOutcome refused() {
  ChargeOutcome outcome;
  outcome.status = Code::invalid_argument;
  outcome.admitted = false;
  return outcome;
}

}  // namespace

Charge make_ad_hoc_charge(const AdHocCharge& from, const Allowance& allowance, const KeyEncoder& encoder) {
  SipHash hash = encoder.seed(from.space, allowance.algorithm);
  for (const std::string_view part : from.subject) KeyEncoder::add_value(hash, part);
  Charge charge;
  charge.key = hash.finish();
  charge.tag = charge.key;
  charge.allowance = &allowance;
  charge.rule = from.space;
  charge.cost = from.cost.units;
  charge.count_denied = from.count_denied;
  return charge;
}

bool is_within_bounds(const AdHocCharge& charge) {
  return charge.allowance != nullptr && charge.subject.size() <= kMaxAttributes && charge.cost.units >= 0 &&
         charge.cost.units <= kMaxUnits;
}

ChargeOutcome Engine::charge(const AdHocCharge& charge) {
  if (!is_within_bounds(charge)) return refused();
  if (immediate_) {
    AdHocCall call(charge, rules_.encoder(), clock_->read(), observers_);
    ask_now(call);
    return call.finish();
  }
  Waiter<ChargeOutcome> waiter;
  this->charge(charge, [&waiter](const ChargeOutcome& answer) { waiter.complete(answer); });
  return waiter.wait();
}

void Engine::charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) {
  if (!is_within_bounds(charge)) return done(refused());
  if (immediate_) return done(this->charge(charge));
  auto call = std::make_unique<AdHocCall>(charge, rules_.encoder(), clock_->read(), observers_);
  call->done = std::move(done);
  AdHocCall* const pending = call.release();  // owns itself until complete()
  if (store_->begin(*pending)) pending->complete();
}

}  // namespace weir::engine
