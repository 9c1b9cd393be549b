// Buckets without a rule: the caller brings the allowance.
#include <utility>

#include "engine/engine.h"
#include "engine/waiter.h"

namespace weir::engine {
namespace {

using identity::KeyEncoder;
using identity::SipHash;

class AdHocCall final : public StoreCall {
 public:
  // `observer` may be null.
  AdHocCall(const AdHocCharge& from, const KeyEncoder& encoder, TimePoint time, Observer* observer)
      : observer_(observer), allowance_(*from.allowance) {
    SipHash hash = encoder.seed(from.space, from.allowance->algorithm);
    for (const std::string_view part : from.subject) KeyEncoder::add_value(hash, part);
    charge_.key = hash.finish();
    charge_.tag = charge_.key;
    charge_.allowance = &allowance_;
    charge_.rule = from.space;
    charge_.cost = from.cost.units;
    charge_.count_denied = from.count_denied;
    action = from.action;
    now = time;
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
    if (observer_ != nullptr && action == Action::take) observer_->on_charge(charge_.rule, outcome_);
    return outcome_;
  }

  std::function<void(const ChargeOutcome&)> done;

 private:
  Observer* const observer_;
  const Allowance allowance_;
  Charge charge_;
  ChargeOutcome outcome_;
};

bool within_bounds(const AdHocCharge& charge) {
  return charge.allowance != nullptr && charge.subject.size() <= kMaxAttributes && charge.cost.units >= 0 &&
         charge.cost.units <= kMaxUnits;
}

ChargeOutcome refused() {
  ChargeOutcome outcome;
  outcome.status = Code::invalid_argument;
  outcome.admitted = false;
  return outcome;
}

}  // namespace

ChargeOutcome Engine::charge(const AdHocCharge& charge) {
  if (!within_bounds(charge)) return refused();
  if (immediate_) {
    AdHocCall call(charge, rules_.encoder(), clock_->now(), observer_.get());
    ask_now(call);
    return call.finish();
  }
  Waiter<ChargeOutcome> waiter;
  this->charge(charge, [&waiter](const ChargeOutcome& answer) { waiter.complete(answer); });
  return waiter.wait();
}

void Engine::charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) {
  if (!within_bounds(charge)) return done(refused());
  if (immediate_) return done(this->charge(charge));
  auto call = std::make_unique<AdHocCall>(charge, rules_.encoder(), clock_->now(), observer_.get());
  call->done = std::move(done);
  AdHocCall* const pending = call.release();  // owns itself until complete()
  if (store_->begin(*pending)) pending->complete();
}

}  // namespace weir::engine
