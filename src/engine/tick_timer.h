// TickTimer: the time since boot, read from the processor's tick counter, which takes half as long as asking the
// system.
//
// Between two looks at the system's clock (`anchors`, kSpan apart) time is the last anchor plus the ticks since, at the
// rate measured between earlier looks. A look that finds the system ahead moves the time forward to it; one that
// finds it behind, by some nanoseconds, lets time run slower until the next anchor. So time never runs backward, and is
// off by at most what the rates differ in kSpan: with the 500 ppm that NTP may correct, 5 microseconds.
//
// A long pause (a stopped process, a suspended machine) ends with a look at the system's clock. Where ticks and clock
// disagree by kMostAhead, the counter is not to be trusted on this machine, and it is not used any more.
//
// The counter is read without waiting for the instructions before it, which would take as long as the reading itself.
// So of two threads, one of which has just heard of the other's reading, the second can be earlier, by as long as the
// news took: 2 microseconds were seen where three threads did nothing else. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace weir::engine {

class TickTimer {
 public:
  // What is read. Thread-safe.
  class Source {
   public:
    virtual ~Source() = default;
    virtual std::uint64_t ticks() = 0;
    virtual std::int64_t since_boot_ns() = 0;
  };

  static constexpr std::int64_t kSpanNs = 10'000'000;     // between two anchors
  static constexpr std::int64_t kMostAheadNs = 500'000;   // ticks ahead of the clock by more: not to be trusted
  static constexpr std::int64_t kLongestLookNs = 20'000;  // a look that took longer was interrupted, and tells nothing

  // The machine's own counter; null where there is none that all cores share.
  static std::unique_ptr<TickTimer> of_this_machine();

  // For tests. The source is borrowed.
  explicit TickTimer(Source& source) : TickTimer(&source) {}

  // The time since boot in nanoseconds.
  std::int64_t now() {
    const std::uint64_t ticks = read_ticks();
    const Anchor anchor = load();
    // Also false when another thread has made a later anchor: the difference is then a very large number.
    if (ticks - anchor.ticks < anchor.span) [[likely]]
      return std::max(anchor.at(ticks), told_ns_.load(std::memory_order_relaxed));
    return look();
  }

  bool trusted() const { return trusted_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned kRateBits = 32;

  struct Anchor {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
    std::uint64_t rate = 0;  // nanoseconds per tick, times 2^kRateBits
    std::uint64_t span = 0;  // ticks; 0: there is no rate yet

    // Precondition: less than a few spans after the anchor, so that nothing overflows.
    std::int64_t at(std::uint64_t now) const {
      return ns + static_cast<std::int64_t>(((now - ticks) * rate) >> kRateBits);
    }
  };
  // When the clock was last seen, and what the counter said then.
  struct Look {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
  };

  explicit TickTimer(Source* source) : source_(source) {}

  std::uint64_t read_ticks() {
#if defined(__x86_64__)
    if (source_ == nullptr) [[likely]]
      return __builtin_ia32_rdtsc();
#endif
    return source_ == nullptr ? 0 : source_->ticks();
  }
  std::int64_t read_clock();

  // A sequence lock: written by one thread at a time, and empty (span 0) where a reader met a writer.
  Anchor load() const {
    const std::uint32_t before = sequence_.load(std::memory_order_acquire);
    // Acquire: the second look at the sequence comes after these.
    const Anchor read{ticks_.load(std::memory_order_acquire), ns_.load(std::memory_order_acquire),
                      rate_.load(std::memory_order_acquire), span_.load(std::memory_order_acquire)};
    return before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before ? read : Anchor{};
  }
  void store(const Anchor& anchor);

  std::int64_t look();
  // From now on, no one is told less than this.
  void tell(std::int64_t now);
  // The latest that anyone can have been told under the anchor, seen when counter and clock show these.
  std::int64_t latest(const Anchor& anchor, const Look& seen) const;
  void move_anchor(const Anchor& known, const Look& seen);
  void measure_rate(const Look& seen);

  Source* const source_;  // null: the machine itself
  std::atomic<bool> trusted_{true};
  std::atomic<std::uint32_t> sequence_{0};
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<std::int64_t> ns_{0};
  std::atomic<std::uint64_t> rate_{0};
  std::atomic<std::uint64_t> span_{0};
  std::atomic<std::int64_t> told_ns_{0};  // the latest that was told by look()

  // Of the thread that has set moving_.
  std::atomic<bool> moving_{false};
  Look last_{};
  std::uint64_t last_rate_ = 0;      // of the last measurement
  std::uint64_t measured_rate_ = 0;  // of the last two that agreed
};

}  // namespace weir::engine
