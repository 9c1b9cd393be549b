// SpinLock: guards one shard for a few dozen nanoseconds, in one byte of the shard's own cache line.
//
// Meets the standard's Lockable, so std::lock_guard works. Not fair. A waiter that has spun for a while yields, so that
// more threads than cores still make progress.
#pragma once

#include <atomic>
#include <thread>

namespace weir::memory {

class SpinLock {
 public:
  void lock() {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  bool try_lock() { return !locked_.exchange(true, std::memory_order_acquire); }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpinsBeforeYield = 64;

  // Out of line: most locks are free.
  [[gnu::noinline]] void wait() {
    for (int spins = 0; !try_lock();) {
      // Waiting on a plain load keeps the line shared between the waiters until it is released.
      while (locked_.load(std::memory_order_relaxed)) {
        if (++spins < kSpinsBeforeYield) {
          relax();
        } else {
          std::this_thread::yield();
        }
      }
    }
  }

  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::atomic<bool> locked_{false};
};

}  // namespace weir::memory
