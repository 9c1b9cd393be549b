// ConnectionMemory: one account of the memory that all connections of all listeners take, with a bound. MemoryCharge:
// what one connection has taken from it.
//
// Small charges (a connection itself, small requests) may use all of it, large ones three quarters: while large
// messages fill their part, idle connections, small requests and new connections are still served. A refused request
// waits for a moment and is then rejected (Connection), which frees what it had: some request always proceeds.
//
// What answers take is charged without asking, because they are owed; Connection bounds it by reading no further.
//
// ConnectionMemory is thread-safe: relaxed atomics, and one exchange for each change of a charge, which is not once for
// each request but when a buffer grows or shrinks. A MemoryCharge belongs to its connection's loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir::transport {

class ConnectionMemory {
 public:
  enum class Use : std::uint8_t { small, large };
  static constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max() / 2;

  explicit ConnectionMemory(std::size_t limit = kUnbounded) : limit_(limit) {}
  ConnectionMemory(const ConnectionMemory&) = delete;
  ConnectionMemory& operator=(const ConnectionMemory&) = delete;

  // False: there is not enough left, and nothing is taken.
  [[nodiscard]] bool take(std::size_t bytes, Use use) {
    const std::size_t most = use == Use::large ? most_for_large() : limit_;
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used > most || bytes > most - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    note_peak(used + bytes);
    return true;
  }
  // Without asking: may exceed the limit.
  void charge(std::size_t bytes) { note_peak(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes); }
  void give_back(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t limit() const { return limit_; }
  std::size_t most_for_large() const { return limit_ - limit_ / 4; }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  // More is taken than there is, by answers that are owed.
  bool is_short() const { return used() > limit_; }

  // The most that was used since the last call.
  std::size_t take_peak() { return peak_.exchange(used(), std::memory_order_relaxed); }

  // Messages and connections that were turned away for want of memory.
  void count_refused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  // Two threads at once may lose the larger of two peaks that are close; that is close enough.
  void note_peak(std::size_t used) {
    if (used > peak_.load(std::memory_order_relaxed)) peak_.store(used, std::memory_order_relaxed);
  }

  const std::size_t limit_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::atomic<std::uint64_t> refused_{0};
};

class MemoryCharge {
 public:
  // Up to this, beside what the connection itself takes, a charge is small: headers and a small body.
  static constexpr std::size_t kSmallBytes = std::size_t{32} << 10;
  // A charge that is too high by less than this stays: not every buffer that shrinks is worth an exchange.
  static constexpr std::size_t kSlack = std::size_t{4} << 10;

  // `own` is what the connection itself takes; it was taken before.
  MemoryCharge(ConnectionMemory& memory, std::size_t own) : memory_(memory), own_(own), charged_(own) {}
  ~MemoryCharge() { memory_.give_back(charged_); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // Makes the charge at least own + `bytes`. False: there is not enough left, and nothing changes.
  [[nodiscard]] bool raise(std::size_t bytes) {
    if (own_ + bytes <= charged_) return true;
    const auto use = bytes > kSmallBytes ? ConnectionMemory::Use::large : ConnectionMemory::Use::small;
    if (!memory_.take(own_ + bytes - charged_, use)) return false;
    charged_ = own_ + bytes;
    return true;
  }
  // Makes the charge own + `bytes`, more or less, whatever is left.
  void settle(std::size_t bytes) {
    const std::size_t wanted = own_ + bytes;
    if (wanted > charged_) {
      memory_.charge(wanted - charged_);
    } else if (charged_ - wanted >= kSlack) {
      memory_.give_back(charged_ - wanted);
    } else {
      return;
    }
    charged_ = wanted;
  }

 private:
  ConnectionMemory& memory_;
  const std::size_t own_;
  std::size_t charged_;
};

}  // namespace weir::transport
