// ClockWatch: logs when the wall clock is set, and when bucket time and wall clock agree again (docs/time.md).
//
// poll() from one thread, every second or so. Borrows the log.
#pragma once

#include <optional>

#include "observe/log.h"
#include "weir/time.h"

namespace weir::server {

class ClockWatch {
 public:
  // Differences below this are not worth a line.
  static constexpr Duration kWorthALine = std::chrono::seconds(1);
  // A clock that is set again and again is logged at most this often.
  static constexpr Duration kLeastPause = std::chrono::seconds(10);

  explicit ClockWatch(observe::Log& log) : log_(log) {}

  // `followed` is how far bucket time has jumped forward since the start (ProcessClock::Steps).
  void poll(const Reading& at, Duration followed);

 private:
  observe::Log& log_;
  std::optional<TimePoint> told_at_;
  Duration told_ahead_{0};
  Duration told_followed_{0};
};

}  // namespace weir::server
