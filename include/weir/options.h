// LimiterOptions: what a Limiter is made from besides its rules. Every field has a working default.
//
//   weir::LimiterOptions options;
//   options.memory.max_bytes = std::size_t{64} << 20;
//   auto limiter = weir::Limiter::open("rules.yaml", options);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/decision.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir {

// Secret under which subjects are hashed. Nodes that share a store must share it.
using HashKey = std::array<std::uint8_t, 16>;

// The embedded store's settings.
struct MemoryOptions {
  std::size_t max_bytes = std::size_t{256} << 20;  // hard bound on everything the buckets take
};

// Sees every decision of check() and every ad-hoc charge (not peeks, refunds and resets), on the thread that made it.
// Must not block or throw.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_decision(const Decision& decision) = 0;
  // `space` is the charge's. A status that is not ok: the store did not answer.
  virtual void on_charge(std::string_view /*space*/, const ChargeOutcome& /*outcome*/) {}
};

struct LimiterOptions {
  std::shared_ptr<Store> store;  // default: a memory store of its own, made from `memory`
  MemoryOptions memory;
  std::shared_ptr<Clock> clock;                      // default: ProcessClock
  std::vector<std::shared_ptr<Observer>> observers;  // called in this order
  HashKey hash_key{};                                // all zero: a random one
  bool prefilter = true;  // with a store that answers later: refuse exhausted buckets without asking it
};

}  // namespace weir
