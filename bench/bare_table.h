// The floor of the engine's bench: the least that any limiter in memory must do for one charge. Open addressing over
// keys that are random already, a lock in the slot, a token bucket's arithmetic on the spot; no rules, no hashing, no
// expiry, no bound. In huge pages, as the store is.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace weir::bench {

class BareTable {
 public:
  explicit BareTable(std::size_t capacity_power)
      : mask_((std::size_t{1} << capacity_power) - 1),
        bytes_((mask_ + 1) * sizeof(Slot)),
        slots_(static_cast<Slot*>(std::aligned_alloc(kHugePage, bytes_))) {
    if (slots_ == nullptr) std::abort();
    ::madvise(slots_.get(), bytes_, MADV_HUGEPAGE);
    for (std::size_t i = 0; i <= mask_; ++i) new (&slots_[i]) Slot;
  }

  // What is left, -1: denied.
  std::int64_t take(std::uint64_t high, std::uint64_t low, std::int64_t now_us, std::int64_t rate,
                    std::int64_t capacity) {
    for (std::size_t i = low & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      while (slot.lock.exchange(true, std::memory_order_acquire)) {
      }
      if (slot.last == 0) {
        slot.high = high;
        slot.low = low;
        slot.level = capacity;
        slot.last = now_us;
      }
      if (slot.high != high || slot.low != low) {
        slot.lock.store(false, std::memory_order_release);
        continue;
      }
      slot.level += (now_us - slot.last) * rate;
      if (slot.level > capacity) slot.level = capacity;
      slot.last = now_us;
      const std::int64_t left = slot.level - 1;
      if (left >= 0) slot.level = left;
      slot.lock.store(false, std::memory_order_release);
      return left;
    }
  }

 private:
  struct alignas(64) Slot {
    std::atomic<bool> lock{false};
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    std::int64_t level = 0;
    std::int64_t last = 0;
  };
  struct Free {
    void operator()(Slot* slots) const { std::free(slots); }
  };
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  const std::size_t mask_;
  const std::size_t bytes_;  // a multiple of kHugePage
  const std::unique_ptr<Slot[], Free> slots_;
};

}  // namespace weir::bench
