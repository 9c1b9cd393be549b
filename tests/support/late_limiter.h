// LateLimiter: a limiter whose store answers when the test says so, in the order it says. Counts what it was asked.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weir/limiter.h"

namespace weir {

class LateLimiter final : public Limiter {
 public:
  bool immediate() const override { return false; }
  Decision check(const Request&) override { return {}; }
  void check(const Request& request, Completion done) override {
    last_cost = request.cost.units;
    last_peek = request.peek;
    decisions.push_back(std::move(done));
  }
  void check_batch(std::span<const Request>, std::span<Decision>) override {}
  Decision refund(const Request&) override { return {}; }
  void refund(const Request&, Completion done) override { decisions.push_back(std::move(done)); }
  Decision reset(const Request&) override { return {}; }
  ChargeOutcome charge(const AdHocCharge&) override { return {}; }
  void charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) override {
    last_cost = charge.cost.units;
    charges.push_back(std::move(done));
  }
  Status replace(const Rules&) override { return success(); }
  Status reload() override { return success(); }

  // Each is run once, then forgotten.
  void answer(std::size_t index, const ChargeOutcome& outcome) { std::exchange(charges.at(index), nullptr)(outcome); }
  void answer(std::size_t index, const Decision& decision) { std::exchange(decisions.at(index), nullptr)(decision); }

  std::vector<Completion> decisions;
  std::vector<std::function<void(const ChargeOutcome&)>> charges;
  std::int64_t last_cost = 0;
  bool last_peek = false;
};

}  // namespace weir
