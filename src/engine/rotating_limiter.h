// RotatingLimiter: the limiter while the key that subjects are hashed with is being rotated.
//
// Two engines on the same rules and store, which differ in their key. The one with the previous key decides: its
// buckets hold what was used before. What it admits is charged under the current key too, so that those buckets hold
// everything that was admitted since the rotation began; when that is longer ago than the longest window, the previous
// key can be dropped and nothing is lost. Nodes that have not begun the rotation charge the previous buckets only,
// which is why those decide. Both must admit: a bucket that has room under one key only admits nothing.
//
// An attribute "name@previous" (kPreviousSuffix) is what "name" was under the previous key, for values that are hashed
// before a limiter sees them: the previous engine gets it in the place of "name", the current one does not see it.
//
// Exists only during a rotation; without one, engines are used as they are. As thread-safe as the engines it borrows.
#pragma once

#include <string_view>

#include "engine/engine.h"
#include "weir/limiter.h"

namespace weir::engine {

class RotatingLimiter final : public Limiter {
 public:
  static constexpr std::string_view kPreviousSuffix = "@previous";

  // `previous` should have the observers.
  RotatingLimiter(Limiter& previous, Limiter& current) : previous_(previous), current_(current) {}

  bool immediate() const override { return previous_.immediate() && current_.immediate(); }
  Decision check(const Request& request) override;
  void check(const Request& request, Completion done) override;
  void check_batch(std::span<const Request> requests, std::span<Decision> decisions) override;
  Decision refund(const Request& request) override;
  void refund(const Request& request, Completion done) override;
  Decision reset(const Request& request) override;
  ChargeOutcome charge(const AdHocCharge& charge) override;
  void charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) override;
  // The engines share their rules.
  Status replace(const Rules& rules) override { return previous_.replace(rules); }
  Status reload() override { return previous_.reload(); }

 private:
  Limiter& previous_;
  Limiter& current_;
};

// Engine::check_together() during a rotation: what the previous engine admits is charged by the current one as well, or
// given back. Attributes of the form "name@previous" have no meaning here.
void check_together(Engine& previous, Engine& current, std::span<const Request> requests,
                    std::span<const AdHocCharge> charges, Engine::Together done);

}  // namespace weir::engine
