// FakeMachine: the two clocks under a ProcessClock, set by a test.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "weir/time.h"

namespace weir::engine {

class FakeMachine final : public ProcessClock::Machine {
 public:
  std::int64_t since_boot_ns() override { return boot_ns_; }
  std::int64_t wall_ns() override {
    if (before_wall) before_wall();
    const std::int64_t seen = wall_ns_;
    if (after_wall) after_wall();
    return seen;
  }

  void pass(std::chrono::nanoseconds time) {
    wall_ns_ += time.count();
    boot_ns_ += time.count();
  }
  void step(std::chrono::nanoseconds by) { wall_ns_ += by.count(); }
  TimePoint wall() const { return from_micros(wall_ns_ / 1000); }
  TimePoint boot() const { return from_micros(boot_ns_ / 1000); }

  // What happens between the looks at the one clock and at the other.
  std::function<void()> before_wall;
  std::function<void()> after_wall;

 private:
  std::atomic<std::int64_t> boot_ns_{5'000'000'000};
  std::atomic<std::int64_t> wall_ns_{1'800'000'000'000'000'000};
};

}  // namespace weir::engine
