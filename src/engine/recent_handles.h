// RecentHandles: what the last handles that were sealed say, by their texts, so that a handle that comes back soon need
// not be opened and decoded: most leases and reservations are ended by the process that gave them.
//
// A text that is found is the very text that was made here, so it needs no other proof. Only handles of one charge,
// which most are, whose rule has its name from this process. A fixed number of places, of which a new handle takes the
// place of an older one. Thread-safe; two threads at one place do not wait for each other: one of them does without.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>

#include "engine/hold_handle.h"

namespace weir::engine {

class RecentHandles {
 public:
  static constexpr std::size_t kPlaces = 128;  // a power of two
  static constexpr std::size_t kMaxText = 168;

  ~RecentHandles() { delete[] places_.load(std::memory_order_acquire); }
  RecentHandles() = default;
  RecentHandles(const RecentHandles&) = delete;
  RecentHandles& operator=(const RecentHandles&) = delete;

  void keep(std::string_view text, const HoldHandle& handle) {
    if (text.size() > kMaxText || text.size() < kPrefix || handle.charges.size() != 1) return;
    if (handle.charges[0].ordinal == HeldCharge::kNotNamed) return;
    Place& place = places()[index_of(text)];
    if (place.busy.test_and_set(std::memory_order_acquire)) return;
    place.text_size = static_cast<std::uint32_t>(text.size());
    std::memcpy(place.text, text.data(), text.size());
    place.terms = handle;
    place.charge = handle.charges[0];
    place.busy.clear(std::memory_order_release);
  }

  // What `text` says, into a new `handle`. False: not known here.
  bool find(std::string_view text, HoldHandle& handle) {
    Place* const all = places_.load(std::memory_order_acquire);
    if (all == nullptr || text.size() < kPrefix) return false;
    Place& place = all[index_of(text)];
    if (place.busy.test_and_set(std::memory_order_acquire)) return false;
    const bool found = place.text_size == text.size() && std::memcmp(place.text, text.data(), text.size()) == 0;
    if (found) {
      static_cast<HoldTerms&>(handle) = place.terms;
      handle.charges.push_back(place.charge);
    }
    place.busy.clear(std::memory_order_release);
    return found;
  }

 private:
  struct alignas(64) Place {
    std::atomic_flag busy;
    std::uint32_t text_size = 0;  // 0: nothing is kept here
    char text[kMaxText];
    HoldTerms terms;
    HeldCharge charge;
  };
  static_assert(std::is_trivially_copyable_v<HoldTerms> && std::is_trivially_copyable_v<HeldCharge>);
  // The first characters, of the version and the tag: as good as random.
  static constexpr std::size_t kPrefix = 12;

  static std::size_t index_of(std::string_view text) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + kPrefix - sizeof(word), sizeof(word));
    return static_cast<std::size_t>(word * 0x9e37'79b9'7f4a'7c15 >> 56) % kPlaces;
  }

  // Made for the first handle: most limiters never make one.
  Place* places() {
    Place* all = places_.load(std::memory_order_acquire);
    if (all != nullptr) return all;
    auto made = std::make_unique<Place[]>(kPlaces);
    if (places_.compare_exchange_strong(all, made.get(), std::memory_order_acq_rel)) all = made.release();
    return all;
  }

  std::atomic<Place*> places_{nullptr};
};

}  // namespace weir::engine
