// Credit: into how many equal parts the tolerance of a rule is divided, of which each store (one per event loop) has
// one. Learnt through Membership.
//
// Written by one thread, readable from any.
#pragma once

#include <atomic>
#include <cstdint>

#include "weir/time.h"

namespace weir::synced {

// Clocks of nodes and the store may differ in speed by one part in so many.
inline constexpr std::int64_t kDriftShare = 1'000;

class Credit {
 public:
  // 0: there is none, because the node has not joined, or has not been heard of for too long.
  std::uint32_t parts(TimePoint now) const {
    return micros(now) < until_us_.load(std::memory_order_relaxed) ? parts_.load(std::memory_order_relaxed) : 0;
  }
  void set(std::uint32_t parts, TimePoint until) {
    parts_.store(parts, std::memory_order_relaxed);
    until_us_.store(micros(until), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> parts_{0};
  std::atomic<std::int64_t> until_us_{0};
};

}  // namespace weir::synced
