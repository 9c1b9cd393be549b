// Slice: units that were drawn from a bucket in advance and are spent on this node, and Demand: how many a key needs.
//
// Plain values, for one thread. Times are microseconds by a clock that never runs backward.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weir/time.h"

namespace weir::leased {

// Clocks of the node and the store may differ in speed by so much. A slice is given up that much earlier.
inline constexpr std::int64_t kDriftShare = 1'000;  // one part in

// When a slice that the store lets live for `life` is given up, if it was asked for at `sent`: before the store thinks
// so, because it was granted after that, and because of the drift.
inline TimePoint slice_end(TimePoint sent, Duration life) { return sent + life - life / kDriftShare - Duration{1}; }

struct Slice {
  std::int64_t left = 0;
  std::int64_t spent = 0;
  TimePoint ends{};

  bool live(TimePoint now) const { return now < ends; }
  bool covers(std::int64_t cost, TimePoint now) const { return left >= cost && live(now); }
};

// Units that are asked for per step of time: an average that follows within eight steps.
class Demand {
 public:
  void add(std::int64_t units, TimePoint now, Duration step) {
    age(now, step);
    level_ = std::min(level_ + std::min(units, kMost) * kScale, kMost * kScale);
  }
  void age(TimePoint now, Duration step) {
    const std::int64_t steps = (now - since_) / step;
    if (steps <= 0) return;
    since_ = steps >= kLongAgo ? now : since_ + steps * step;
    if (steps >= kLongAgo) level_ = 0;
    for (std::int64_t i = 0; i < steps && level_ > 0; ++i) level_ -= level_ / kSteps + 1;
    level_ = std::max<std::int64_t>(level_, 0);
  }
  // Rounded up.
  std::int64_t per_step() const { return (level_ + kScale * kSteps - 1) / (kScale * kSteps); }
  std::int64_t level() const { return level_; }

 private:
  static constexpr std::int64_t kSteps = 8;
  static constexpr std::int64_t kScale = 256;
  static constexpr std::int64_t kLongAgo = 64;
  static constexpr std::int64_t kMost = std::int64_t{1} << 41U;  // so that a rate in microseconds fits

  std::int64_t level_ = 0;
  TimePoint since_{};
};

}  // namespace weir::leased
