#include <algorithm>
#include <ctime>

#include "engine/tick_timer.h"
#include "weir/time.h"

namespace weir {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kNanosPerMicro = 1'000;
constexpr std::int64_t kComparePeriodNs = ProcessClock::kComparePeriod.count();
constexpr std::int64_t kLeastStepNs = ProcessClock::kLeastStep.count();
constexpr int kMeasurements = 4;

std::int64_t read_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * kNanosPerSecond + time.tv_nsec;
}

TimePoint from_nanos(std::int64_t nanos) { return from_micros(nanos / kNanosPerMicro); }

}  // namespace

ProcessClock::ProcessClock(Machine* machine)
    : machine_(machine), ticks_(machine == nullptr ? engine::TickTimer::of_this_machine() : nullptr) {
  std::int64_t offset = 0;
  // Repeated until it succeeds: without it there is no time.
  while (!measure(offset)) {
  }
  offset_ns_.store(offset, std::memory_order_relaxed);
  wall_offset_ns_.store(offset, std::memory_order_relaxed);
  compare_at_ns_.store(since_boot_ns() + kComparePeriodNs, std::memory_order_relaxed);
}

ProcessClock::~ProcessClock() = default;

inline std::int64_t ProcessClock::since_boot_ns() {
  if (ticks_ != nullptr) [[likely]]
    return ticks_->now();
  return machine_ == nullptr ? read_ns(CLOCK_BOOTTIME) : machine_->since_boot_ns();
}

inline std::int64_t ProcessClock::wall_ns() {
  return machine_ == nullptr ? read_ns(CLOCK_REALTIME) : machine_->wall_ns();
}

// The time since boot, after whatever comparison was due by then.
inline std::int64_t ProcessClock::since_boot_compared_ns() {
  const std::int64_t since_boot = since_boot_ns();
  std::int64_t due = compare_at_ns_.load(std::memory_order_relaxed);
  // One thread compares, the others use the last result.
  if (since_boot >= due && compare_at_ns_.compare_exchange_strong(due, since_boot + kComparePeriodNs,
                                                                  std::memory_order_relaxed)) [[unlikely]] {
    compare();
  }
  return since_boot;
}

// The offset is loaded after the time since boot was read, and only grows: of two calls, one after the other, neither
// part of the sum is less in the second.
TimePoint ProcessClock::now() {
  const std::int64_t since_boot = since_boot_compared_ns();
  return from_nanos(since_boot + offset_ns_.load(std::memory_order_relaxed));
}

Reading ProcessClock::read() {
  const std::int64_t since_boot = since_boot_compared_ns();
  const std::int64_t wall_offset = wall_offset_ns_.load(std::memory_order_acquire);
  const std::int64_t offset = offset_ns_.load(std::memory_order_relaxed);
  const Duration ahead = offset == wall_offset ? Duration::zero() : Duration((offset - wall_offset) / kNanosPerMicro);
  return {from_nanos(since_boot + offset), ahead};
}

ProcessClock::Steps ProcessClock::steps() const {
  return {forward_.load(std::memory_order_relaxed), backward_.load(std::memory_order_relaxed),
          Duration(followed_ns_.load(std::memory_order_relaxed) / kNanosPerMicro)};
}

// The wall clock minus the time since boot, rounded down rather than up: a clock that follows a wall clock that was
// read late would stay ahead of it permanently. False: this thread was interrupted each time that it looked.
bool ProcessClock::measure(std::int64_t& offset_ns) {
  for (int i = 0; i < kMeasurements; ++i) {
    const std::int64_t before = since_boot_ns();
    const std::int64_t wall = wall_ns();
    const std::int64_t after = since_boot_ns();
    if (after - before >= kLeastStepNs) continue;
    offset_ns = wall - after;
    return true;
  }
  return false;
}

void ProcessClock::compare() {
  std::int64_t measured = 0;
  if (!measure(measured)) return;
  const std::int64_t known = wall_offset_ns_.load(std::memory_order_relaxed);
  const std::int64_t step = measured - known;
  if (step < kLeastStepNs && step > -kLeastStepNs) return;

  (step > 0 ? forward_ : backward_).fetch_add(1, std::memory_order_relaxed);
  std::int64_t offset = offset_ns_.load(std::memory_order_relaxed);
  // Another thread's comparison, begun long ago, may end now.
  while (offset < measured) {
    if (!offset_ns_.compare_exchange_weak(offset, measured, std::memory_order_relaxed)) continue;
    followed_ns_.fetch_add(measured - offset, std::memory_order_relaxed);
    break;
  }
  // Back where it was, except for noise: restore the exact value.
  if (measured > offset - kLeastStepNs) measured = std::max(measured, offset);
  wall_offset_ns_.store(measured, std::memory_order_release);
}

TimePoint SteadyClock::now() { return from_nanos(read_ns(CLOCK_MONOTONIC)); }

}  // namespace weir
