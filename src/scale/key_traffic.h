// KeyTraffic: what one key of a rule costs the shared store, found by letting the real engine decide requests for it.
//
// Each event loop of each node of a region has an engine, a prefilter and slices of its own, as in the server; the
// store is one memory store that counts calls. Requests come at random (Poisson) to random loops, by a clock that only
// they advance. Answers come at once: the time that a call of the store takes is left out.
//
// The same seed gives the same result. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/result.h"
#include "weir/rule.h"

namespace weir::scale {

struct KeyOutcome {
  double decisions = 0;  // that were checked, after a time to warm up
  double allowed = 0;
  double store_calls = 0;

  double calls_per_decision() const { return decisions == 0 ? 1 : store_calls / decisions; }
  double allowed_share() const { return decisions == 0 ? 1 : allowed / decisions; }
};

class KeyTraffic {
 public:
  static constexpr std::uint32_t kMostLoops = 4'096;

  // Of the rule, only the numbers and how they are kept matter. `loops`: of all nodes that share the store, 1 to
  // kMostLoops. The failure is that of the rule.
  static Result<KeyTraffic> create(const Rule& rule, std::uint32_t loops, std::uint64_t seed);
  KeyTraffic(KeyTraffic&&) noexcept;
  ~KeyTraffic();

  // A key that was never asked for before, asked for so often in all.
  KeyOutcome run(double per_second);

 private:
  class Region;
  explicit KeyTraffic(std::unique_ptr<Region> region);

  std::unique_ptr<Region> region_;
};

}  // namespace weir::scale
