// LateLimiter: a limiter whose store answers when the test says so, in the order it says. Counts what it was asked.
#pragma once

#include <cassert>
#include <functional>
#include <utility>
#include <vector>

#include "weir/ad_hoc.h"
#include "weir/limiter.h"

namespace weir {

// Calls ask for one thing each.
class LateLimiter final : public Limiter, public AdHocLimiter {
 public:
  bool begin(CheckCall& call) override {
    assert(call.requests.size() == 1);
    last_cost = call.requests.front().cost.units;
    last_peek = call.requests.front().peek;
    decisions.emplace_back([&later = call.defer()](const Decision& decision) {
      later.decisions.front() = decision;
      later.complete();
    });
    return false;
  }
  bool begin_group(GroupCall& call) override {
    assert(call.requests.empty() && call.charges.size() == 1);
    last_cost = call.charges.front().cost.units;
    charges.emplace_back([&later = call.defer()](const ChargeOutcome& outcome) {
      later.outcomes.front() = outcome;
      later.complete();
    });
    return false;
  }
  AdHocLimiter* ad_hoc() override { return this; }
  Status replace(const Rules&) override { return success(); }
  Status reload() override { return success(); }

  // Each is run once, then forgotten.
  void answer(std::size_t index, const ChargeOutcome& outcome) { std::exchange(charges.at(index), nullptr)(outcome); }
  void answer(std::size_t index, const Decision& decision) { std::exchange(decisions.at(index), nullptr)(decision); }

  std::vector<std::function<void(const Decision&)>> decisions;
  std::vector<std::function<void(const ChargeOutcome&)>> charges;
  std::int64_t last_cost = 0;
  bool last_peek = false;
};

}  // namespace weir
