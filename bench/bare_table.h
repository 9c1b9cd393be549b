// The floor of the store's bench: the least that any limiter in memory must do for one charge. Open addressing over
// keys that are random already, a lock in the slot, a token bucket's arithmetic on the spot; no rules, no hashing, no
// expiry, no bound.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace weir::bench {

class BareTable {
 public:
  explicit BareTable(std::size_t capacity_power)
      : mask_((std::size_t{1} << capacity_power) - 1), slots_(new Slot[mask_ + 1]) {}

  bool take(std::uint64_t high, std::uint64_t low, std::int64_t now_us, std::int64_t rate, std::int64_t capacity) {
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
      const bool admitted = slot.level >= 1;
      if (admitted) --slot.level;
      slot.lock.store(false, std::memory_order_release);
      return admitted;
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
  const std::size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace weir::bench
