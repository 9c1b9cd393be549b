// Store calls for tests: made in one line, owning what they point to.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "weir/allowance.h"
#include "weir/store.h"

namespace weir::contract {

inline std::vector<Algorithm> all_algorithms() {
  std::vector<Algorithm> algorithms;
  for (int i = 0; i < kAlgorithmCount; ++i) algorithms.push_back(static_cast<Algorithm>(i));
  return algorithms;
}

// An allowance under which a fresh bucket admits exactly `limit` units at once, whichever the algorithm.
inline Allowance allowance_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  AllowanceSpec spec;
  spec.algorithm = algorithm;
  spec.limit = limit;
  spec.window = window;
  // One request passes at once, and as many as fit in the queue after it.
  if (algorithm == Algorithm::leaky_bucket && limit > 0) spec.queue = limit - 1;
  const Result<Allowance> made = make_allowance(spec);
  if (!made.ok()) throw std::logic_error(made.failure().message);
  return made.value();
}

// Far from each other in both halves, as hashes are.
inline BucketKey spread_key(std::uint64_t number) {
  return {number * 0x9E3779B97F4A7C15, (number + 1) * 0xC2B2AE3D27D4EB4F};
}

inline Charge charge_of(const BucketKey& key, const Allowance& allowance, std::int64_t cost = 1) {
  Charge charge;
  charge.key = key;
  charge.tag = {1, 1};
  charge.allowance = &allowance;
  charge.rule = "contract";
  charge.cost = cost;
  return charge;
}

// A call with what it points to.
class OwnedCall final : public StoreCall {
 public:
  OwnedCall(Action what, TimePoint when, std::vector<Charge> what_for)
      : charges_(std::move(what_for)), outcomes_(charges_.size()) {
    action = what;
    now = when;
    charges = charges_;
    outcomes = outcomes_;
  }
  OwnedCall(const OwnedCall&) = delete;
  OwnedCall& operator=(const OwnedCall&) = delete;

  void complete() override { completed_ = true; }
  bool completed() const { return completed_; }
  const std::vector<ChargeOutcome>& results() const { return outcomes_; }

 private:
  std::vector<Charge> charges_;
  std::vector<ChargeOutcome> outcomes_;
  bool completed_ = false;
};

// A call with one charge, for loops that count in millions: no heap.
class OneCharge final : public StoreCall {
 public:
  OneCharge(Action what, TimePoint when, const Charge& charge) : charge_(charge) {
    action = what;
    now = when;
    charges = {&charge_, 1};
    outcomes = {&outcome_, 1};
  }
  OneCharge(const OneCharge&) = delete;
  OneCharge& operator=(const OneCharge&) = delete;

  void complete() override {}
  const ChargeOutcome& outcome() const { return outcome_; }

 private:
  const Charge charge_;
  ChargeOutcome outcome_;
};

// Puts one charge to a store that answers at once.
inline ChargeOutcome ask(Store& store, Action action, TimePoint now, const Charge& charge) {
  OneCharge call(action, now, charge);
  if (!store.begin(call)) throw std::logic_error("the store does not answer at once");
  return call.outcome();
}

}  // namespace weir::contract
