// FloodGuard: how many frames that carry no request a peer may send (SETTINGS, PING, PRIORITY, WINDOW_UPDATE, empty
// DATA) and how many requests it may cancel (rapid reset) or have reset because of an error in them.
//
// Each kind has a budget that refills with time, and the control frames' also with what the peer is sent, since an
// honest peer sends more of them as its traffic grows: HAProxy acknowledges every frame of an answer twice. Bytes
// count, not frames, because small windows would make many frames. The clock is read only when a frame that has a
// budget arrives. Belongs to one connection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "weir/time.h"

namespace weir::http2 {

class FloodGuard {
 public:
  static constexpr std::int64_t kControlBurst = 1000;
  static constexpr std::int64_t kControlPerServed = 4;
  static constexpr std::int64_t kSentPerControl = 64;  // bytes
  static constexpr std::int64_t kResetBurst = 1000;
  static constexpr std::int64_t kRefillPerSecond = 100;

  explicit FloodGuard(std::shared_ptr<Clock> clock) : clock_(std::move(clock)), refilled_at_(clock_->now()) {}

  // An answer, or one of many messages, is out.
  void served() { control_ = std::min(kControlBurst, control_ + kControlPerServed); }
  // A frame of an answer is out.
  void sent(std::int64_t bytes) { control_ = std::min(kControlBurst, control_ + bytes / kSentPerControl); }
  // False: too many.
  [[nodiscard]] bool allow_control() { return take(control_); }
  [[nodiscard]] bool allow_reset() { return take(resets_); }

 private:
  bool take(std::int64_t& budget) {
    refill();
    if (budget <= 0) return false;
    --budget;
    return true;
  }
  void refill() {
    const TimePoint now = clock_->now();
    const std::int64_t passed_us = (now - refilled_at_).count();
    const std::int64_t earned = std::min(passed_us / kMicrosPerToken, kControlBurst);
    if (earned == 0) return;
    control_ = std::min(kControlBurst, control_ + earned);
    resets_ = std::min(kResetBurst, resets_ + earned);
    refilled_at_ = now;
  }

  static constexpr std::int64_t kMicrosPerToken = 1'000'000 / kRefillPerSecond;

  std::shared_ptr<Clock> clock_;
  TimePoint refilled_at_;
  std::int64_t control_ = kControlBurst;
  std::int64_t resets_ = kResetBurst;
};

}  // namespace weir::http2
