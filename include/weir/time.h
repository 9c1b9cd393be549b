// Time as Weir counts it: microseconds since the Unix epoch, and clocks that can be replaced.
//
// There are two times (docs/time.md). Buckets count by one that never runs backward; what people and tokens mean by a
// time of day (`until`, calendar windows, `Date`, log lines, `exp`) is the wall clock, which may be set. A Reading
// has both. They differ only after the wall clock was set back.
//
// `now` is a parameter everywhere below the engine, which asks its Clock once per call. A store that is shared may use
// another in its place (`redis.time`). ProcessClock and SteadyClock read the machine's clocks; ManualClock is for tests
// and simulations.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace weir {

namespace engine {
class TickTimer;
}

using Duration = std::chrono::microseconds;
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

inline std::int64_t micros(TimePoint time) { return time.time_since_epoch().count(); }
inline TimePoint from_micros(std::int64_t value) { return TimePoint{Duration{value}}; }

// Rounded up, so that waiting this long is always long enough. Precondition: duration is not negative.
inline std::int64_t ceil_ms(Duration duration) { return (duration.count() + 999) / 1000; }
inline std::int64_t ceil_seconds(Duration duration) { return (duration.count() + 999'999) / 1'000'000; }
// The same for moments, in the units of Unix time. Precondition: not before the epoch.
inline std::int64_t ceil_unix_ms(TimePoint time) { return ceil_ms(time.time_since_epoch()); }
inline std::int64_t ceil_unix_seconds(TimePoint time) { return ceil_seconds(time.time_since_epoch()); }

// What a clock shows.
struct Reading {
  TimePoint now;      // for buckets: never runs backward
  Duration ahead{0};  // of the wall clock; never negative, and 0 unless that was set back

  TimePoint wall() const { return now - ahead; }
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never runs backward: a call that begins after another has returned gets no earlier time. If that was on another
  // thread, it may be earlier by a few microseconds: buckets take the later one.
  virtual TimePoint now() = 0;
  // Both times for the price of one.
  virtual Reading read() { return {now(), Duration{0}}; }
  TimePoint wall() { return read().wall(); }
};

// The clock of a process that decides.
//
// now() starts at the wall clock and advances with the time since boot, which counts a suspended machine's sleep. When
// the wall clock was set forward, now() follows at once; when it was set back, now() goes on as before and is ahead of
// it until it catches up. So now() is the latest that the wall clock can have shown, and never runs backward.
//
// The two machine clocks are compared every kComparePeriod, by a thread that asks for the time after that, before
// it is answered: the wall time in a Reading is at most that old. Differences below kLeastStep are taken for noise.
class ProcessClock final : public Clock {
 public:
  static constexpr std::chrono::nanoseconds kComparePeriod = std::chrono::milliseconds(10);
  static constexpr std::chrono::nanoseconds kLeastStep = std::chrono::milliseconds(1);

  // What is read. Thread-safe.
  class Machine {
   public:
    virtual ~Machine() = default;
    virtual std::int64_t since_boot_ns() = 0;  // monotonic
    virtual std::int64_t wall_ns() = 0;        // since the epoch
  };

  // How often the wall clock was set since the start, and how far now() has jumped with it in all.
  struct Steps {
    std::uint64_t forward = 0;
    std::uint64_t backward = 0;
    Duration followed{0};
  };

  ProcessClock() : ProcessClock(nullptr) {}
  // For tests. The machine is borrowed.
  explicit ProcessClock(Machine& machine) : ProcessClock(&machine) {}
  ~ProcessClock() override;

  TimePoint now() override;
  Reading read() override;
  Steps steps() const;

 private:
  explicit ProcessClock(Machine* machine);

  std::int64_t since_boot_ns();
  std::int64_t wall_ns();
  std::int64_t since_boot_compared_ns();
  void compare();
  bool measure(std::int64_t& offset_ns);

  Machine* const machine_;                          // null: the machine itself
  const std::unique_ptr<engine::TickTimer> ticks_;  // null: the time since boot is asked of the system
  // now = since boot + this. Only grows.
  std::atomic<std::int64_t> offset_ns_{0};
  // The wall clock = since boot + this, as of the last comparison. Never above offset_ns_: written after that one and
  // read before it.
  std::atomic<std::int64_t> wall_offset_ns_{0};
  std::atomic<std::int64_t> compare_at_ns_{0};
  std::atomic<std::uint64_t> forward_{0};
  std::atomic<std::uint64_t> backward_{0};
  std::atomic<std::int64_t> followed_ns_{0};
};

// For durations such as deadlines: a time since some start, which no setting of the wall clock touches. Stops
// while the machine is suspended.
class SteadyClock final : public Clock {
 public:
  TimePoint now() override;
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start = from_micros(1'800'000'000'000'000)) : now_us_(micros(start)) {}
  TimePoint now() override { return from_micros(now_us_.load(std::memory_order_relaxed)); }
  Reading read() override { return {now(), Duration{ahead_us_.load(std::memory_order_relaxed)}}; }
  void advance(Duration by) { now_us_.fetch_add(by.count(), std::memory_order_relaxed); }
  void set(TimePoint to) { now_us_.store(micros(to), std::memory_order_relaxed); }
  // As if the wall clock had been set back by this in all.
  void set_ahead(Duration of_the_wall_clock) { ahead_us_.store(of_the_wall_clock.count(), std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> now_us_;
  std::atomic<std::int64_t> ahead_us_{0};
};

}  // namespace weir
