#include "engine/tick_timer.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>

namespace weir::engine {
namespace {

__extension__ typedef unsigned __int128 WideTicks;

constexpr std::int64_t kNanosInSecond = 1'000'000'000;
// Anchors so far apart can still be told from each other's ticks without overflow.
constexpr std::uint64_t kMostSpans = 4;
// A rate is measured over at least half a span and at most this; two agree that differ by at most 1 in 500.
constexpr std::int64_t kLongestMeasurementNs = 10 * kNanosInSecond;
constexpr std::uint64_t kRateTolerance = 500;
constexpr int kLooks = 4;

// The kernel uses the counter itself only where it runs at one rate and agrees between the cores.
bool kernel_trusts_the_counter() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return static_cast<bool>(file >> name) && name == "tsc";
}

bool agree(std::uint64_t rate, std::uint64_t other) {
  return (rate > other ? rate - other : other - rate) <= other / kRateTolerance;
}

}  // namespace

std::unique_ptr<TickTimer> TickTimer::of_this_machine() {
#if defined(__x86_64__)
  if (kernel_trusts_the_counter()) return std::unique_ptr<TickTimer>(new TickTimer(nullptr));
#endif
  return nullptr;
}

std::int64_t TickTimer::read_clock() {
  if (source_ != nullptr) return source_->since_boot_ns();
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::int64_t{time.tv_sec} * kNanosInSecond + time.tv_nsec;
}

void TickTimer::store(const Anchor& anchor) {
  sequence_.fetch_add(1, std::memory_order_relaxed);
  // Release: not before the sequence is odd.
  ticks_.store(anchor.ticks, std::memory_order_release);
  ns_.store(anchor.ns, std::memory_order_release);
  rate_.store(anchor.rate, std::memory_order_release);
  span_.store(anchor.span, std::memory_order_release);
  sequence_.fetch_add(1, std::memory_order_release);
}

std::int64_t TickTimer::latest(const Anchor& anchor, const Look& seen) const {
  if (anchor.span == 0) return 0;
  const std::int64_t most = anchor.at(anchor.ticks + anchor.span * kMostSpans);
  const auto since = static_cast<std::int64_t>(seen.ticks - anchor.ticks);
  // The counter began again, as it may while a machine sleeps. Until then it was not further ahead of the clock than a
  // wrong rate can bring it.
  if (since < 0) return std::min(most, seen.ns + kSpanNs / static_cast<std::int64_t>(kRateTolerance));
  if (static_cast<std::uint64_t>(since) >= anchor.span * kMostSpans) return most;
  return anchor.at(seen.ticks);
}

// No anchor, or one that is old: one thread makes the next, the others ask the system. Whatever is told here counts as
// told, so that an anchor made later is not behind it.
[[gnu::noinline]] std::int64_t TickTimer::look() {
  if (trusted() && !moving_.exchange(true, std::memory_order_acquire)) {
    const Anchor known = load();  // no one else writes now
    for (int i = 0; i < kLooks; ++i) {
      const std::int64_t ns = read_clock();
      const Look seen{read_ticks(), ns};
      if (read_clock() - ns > kLongestLookNs) continue;
      move_anchor(known, seen);
      break;
    }
    moving_.store(false, std::memory_order_release);
  }
  const Look seen{read_ticks(), read_clock()};
  const std::int64_t now = std::max({seen.ns, latest(load(), seen), told_ns_.load(std::memory_order_relaxed)});
  tell(now);
  return now;
}

void TickTimer::tell(std::int64_t now) {
  std::int64_t told = told_ns_.load(std::memory_order_relaxed);
  while (told < now && !told_ns_.compare_exchange_weak(told, now, std::memory_order_relaxed)) {
  }
}

// Precondition: this thread has set moving_.
void TickTimer::move_anchor(const Anchor& known, const Look& seen) {
  measure_rate(seen);
  if (measured_rate_ == 0) return;
  Anchor next{seen.ticks, seen.ns, measured_rate_, 0};
  next.span = (static_cast<std::uint64_t>(kSpanNs) << kRateBits) / measured_rate_;
  const std::int64_t told = std::max(latest(known, seen), told_ns_.load(std::memory_order_relaxed));
  const std::int64_t ahead = told - seen.ns;
  if (ahead > kMostAheadNs) {
    trusted_.store(false, std::memory_order_relaxed);
    tell(told);
    store({});
    return;
  }
  if (ahead > 0) {
    // Slower, so that at the next anchor the clock is where this would have been.
    next.ns = told;
    const auto lost = static_cast<std::uint64_t>(ahead) * measured_rate_ / static_cast<std::uint64_t>(kSpanNs);
    next.rate = std::max(measured_rate_ - lost, measured_rate_ / 2);
  }
  store(next);
}

// Of the times between two looks, one that was long enough to measure and has no sleep in it.
void TickTimer::measure_rate(const Look& seen) {
  const std::int64_t passed = seen.ns - last_.ns;
  const std::uint64_t ticks = seen.ticks - last_.ticks;
  if (last_.ns != 0 && passed < kSpanNs / 2) return;  // too short: the earlier look is still the one to measure from
  const bool measurable =
      last_.ns != 0 && passed <= kLongestMeasurementNs && ticks > 0 && ticks < static_cast<std::uint64_t>(passed) * 100;
  last_ = seen;
  if (!measurable) return;
  const std::uint64_t rate = static_cast<std::uint64_t>((static_cast<WideTicks>(passed) << kRateBits) / ticks);
  if (rate == 0) return;
  // A machine that slept in between has passed time without ticks: only two measurements that agree are trusted.
  if (agree(rate, measured_rate_) || agree(rate, last_rate_)) measured_rate_ = rate;
  last_rate_ = rate;
}

}  // namespace weir::engine
