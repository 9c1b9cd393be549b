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
  AdHocCall(const AdHocCharge& from, const KeyEncoder& encoder, TimePoint time) : allowance_(*from.allowance) {
    SipHash hash = encoder.seed(from.space, from.allowance->algorithm);
    for (const std::string_view part : from.subject) KeyEncoder::add_value(hash, part);
    charge_.key = hash.finish();
    charge_.tag = charge_.key;
    charge_.allowance = &allowance_;
    charge_.rule = from.space;
    charge_.cost = from.cost.units;
    action = from.action;
    now = time;
    charges = {&charge_, 1};
    outcomes = {&outcome_, 1};
  }

  void complete() override {
    const std::unique_ptr<AdHocCall> self(this);
    done(result());
  }

  ChargeOutcome result() const {
    ChargeOutcome result = outcome_;
    if (status != Code::ok) result.status = status;
    return result;
  }

  std::function<void(const ChargeOutcome&)> done;

 private:
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
    AdHocCall call(charge, rules_.encoder(), clock_->now());
    ask_now(call);
    return call.result();
  }
  Waiter<ChargeOutcome> waiter;
  this->charge(charge, [&waiter](const ChargeOutcome& answer) { waiter.complete(answer); });
  return waiter.wait();
}

void Engine::charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) {
  if (!within_bounds(charge)) return done(refused());
  if (immediate_) return done(this->charge(charge));
  auto call = std::make_unique<AdHocCall>(charge, rules_.encoder(), clock_->now());
  call->done = std::move(done);
  AdHocCall* const pending = call.release();  // owns itself until complete()
  if (store_->begin(*pending)) pending->complete();
}

}  // namespace weir::engine
