// Time as Weir counts it: microseconds since the Unix epoch, and clocks that can be replaced.
//
// `now` is a parameter everywhere below the engine. A Clock is asked once per decision, by the engine. ProcessClock
// is the only code in the project that reads the machine's clocks; ManualClock is for tests and simulations.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir {

using Duration = std::chrono::microseconds;
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

inline std::int64_t micros(TimePoint time) { return time.time_since_epoch().count(); }
inline TimePoint from_micros(std::int64_t value) { return TimePoint{Duration{value}}; }

// Rounded up, so that waiting this long is always long enough. Precondition: duration is not negative.
inline std::int64_t ceil_ms(Duration duration) { return (duration.count() + 999) / 1000; }
inline std::int64_t ceil_seconds(Duration duration) { return (duration.count() + 999'999) / 1'000'000; }

// Thread-safe. now() never runs backward.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() = 0;
};

// Starts at the wall clock and advances with the monotonic one, so that a step of the wall clock is never seen as a
// step. resync() lets it lean toward the wall clock by at most `kMaxSlewPpm`; call it every second or so.
class ProcessClock final : public Clock {
 public:
  static constexpr std::int64_t kMaxSlewPpm = 500;

  ProcessClock();
  TimePoint now() override;
  void resync();

 private:
  // now = steady + offset + slew · (steady − since), a line that resync() bends without breaking it. The three numbers
  // are read together: `sequence_` is odd while they are being changed.
  std::atomic<std::uint32_t> sequence_{0};
  std::atomic<std::int64_t> offset_us_;
  std::atomic<std::int64_t> since_us_;
  std::atomic<std::int64_t> slew_ppm_{0};
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start = from_micros(1'800'000'000'000'000)) : now_us_(micros(start)) {}
  TimePoint now() override { return from_micros(now_us_.load(std::memory_order_relaxed)); }
  void advance(Duration by) { now_us_.fetch_add(by.count(), std::memory_order_relaxed); }
  void set(TimePoint to) { now_us_.store(micros(to), std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> now_us_;
};

}  // namespace weir
