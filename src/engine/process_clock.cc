#include <algorithm>

#include "weir/time.h"

namespace weir {
namespace {

std::int64_t steady_us() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t wall_us() {
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::int64_t kMillion = 1'000'000;

}  // namespace

ProcessClock::ProcessClock() {
  const std::int64_t steady = steady_us();
  offset_us_.store(wall_us() - steady, std::memory_order_relaxed);
  since_us_.store(steady, std::memory_order_relaxed);
}

TimePoint ProcessClock::now() {
  while (true) {
    const std::uint32_t before = sequence_.load(std::memory_order_acquire);
    const std::int64_t offset = offset_us_.load(std::memory_order_acquire);
    const std::int64_t since = since_us_.load(std::memory_order_acquire);
    const std::int64_t slew = slew_ppm_.load(std::memory_order_acquire);
    if ((before & 1) != 0 || sequence_.load(std::memory_order_relaxed) != before) continue;
    const std::int64_t steady = steady_us();
    const std::int64_t lean = slew == 0 ? 0 : slew * (steady - since) / kMillion;
    return from_micros(steady + offset + lean);
  }
}

void ProcessClock::resync() {
  const std::int64_t since = since_us_.load(std::memory_order_relaxed);
  const std::int64_t slew = slew_ppm_.load(std::memory_order_relaxed);
  const std::int64_t steady = steady_us();
  const std::int64_t offset = offset_us_.load(std::memory_order_relaxed) + slew * (steady - since) / kMillion;
  // At the next resync, a second from now, this slew will have closed the gap or done as much as it may.
  const std::int64_t gap = wall_us() - (steady + offset);
  sequence_.fetch_add(1, std::memory_order_acq_rel);
  offset_us_.store(offset, std::memory_order_release);
  since_us_.store(steady, std::memory_order_release);
  slew_ppm_.store(std::clamp(gap, -kMaxSlewPpm, kMaxSlewPpm), std::memory_order_release);
  sequence_.fetch_add(1, std::memory_order_release);
}

}  // namespace weir
