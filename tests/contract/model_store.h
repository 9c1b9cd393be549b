// ModelStore: a store made of the sequential reference models and an ordinary map, with nothing of the code under test.
// It states what a call over several buckets means; real stores are compared with it.
//
// Answers at once. Not thread-safe. A bucket keeps the allowance of its first charge.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "tests/models/reference_models.h"
#include "weir/store.h"

namespace weir::contract {

inline ChargeOutcome outcome_of(const models::Answer& answer) {
  ChargeOutcome outcome;
  outcome.admitted = answer.admitted;
  outcome.too_large = answer.too_large;
  outcome.remaining = answer.remaining;
  outcome.retry_after = answer.retry_after;
  outcome.reset_after = answer.reset_after;
  outcome.delay = answer.delay;
  return outcome;
}

class ModelStore final : public Store {
 public:
  // What a denied call does to the buckets that would have admitted: nothing, or a charge that is given back at once.
  enum class Denial : std::uint8_t { charges_nothing, undoes };
  explicit ModelStore(Denial denial = Denial::charges_nothing) : denial_(denial) {}

  bool begin(StoreCall& call) override;
  bool immediate() const override { return true; }
  std::string_view name() const override { return "model"; }

 private:
  models::ReferenceModel& bucket(const Charge& charge);
  void take(StoreCall& call);

  const Denial denial_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::unique_ptr<models::ReferenceModel>> buckets_;
};

inline models::ReferenceModel& ModelStore::bucket(const Charge& charge) {
  auto& bucket = buckets_[{charge.key.high, charge.key.low}];
  if (!bucket) bucket = models::make_reference_model(*charge.allowance);
  return *bucket;
}

inline bool ModelStore::begin(StoreCall& call) {
  call.status = Code::ok;
  call.atomic = true;
  if (call.action == Action::take || call.action == Action::peek) {
    take(call);
    return true;
  }
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    if (call.action == Action::reset) buckets_.erase({charge.key.high, charge.key.low});
    if (call.action == Action::refund) bucket(charge).refund(call.now, charge.cost);
    call.outcomes[i] = outcome_of(bucket(charge).peek(call.now, 0));
  }
  return true;
}

inline void ModelStore::take(StoreCall& call) {
  bool admitted = true;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    call.outcomes[i] = outcome_of(bucket(charge).peek(call.now, charge.cost));
    if (charge.binding && !call.outcomes[i].admitted) admitted = false;
  }
  const bool taking = call.action == Action::take;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    ChargeOutcome& outcome = call.outcomes[i];
    if (outcome.admitted && admitted && taking) {
      bucket(charge).admit(call.now, charge.cost);
    } else if (outcome.admitted) {
      const models::Answer standing = bucket(charge).peek(call.now, 0);
      outcome.remaining = standing.remaining;
      outcome.reset_after = standing.reset_after;
      if (taking && denial_ == Denial::undoes) {
        bucket(charge).admit(call.now, charge.cost);
        bucket(charge).refund(call.now, charge.cost);
      }
    } else if (taking && charge.count_denied) {
      bucket(charge).count_denied(call.now, charge.cost);
      outcome = outcome_of(bucket(charge).peek(call.now, charge.cost));
    }
  }
}

}  // namespace weir::contract
