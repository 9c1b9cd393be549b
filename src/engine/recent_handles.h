// RecentHandles: what was sealed lately, with its text, so that a handle that comes back to the node that made it is
// not opened again: comparing is ten times as cheap. Only an equal text is found, so a forged one never is.
//
// Bounded: kPlaces of the usual size; a new handle takes the place of an older one. Thread-safe; two threads at one
// place do not wait for each other: one of them does without.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace weir::engine {

class RecentHandles {
 public:
  static constexpr std::size_t kPlaces = 256;  // a power of two
  static constexpr std::size_t kMaxText = 168;
  static constexpr std::size_t kMaxBytes = 108;

  ~RecentHandles() { delete[] places_.load(std::memory_order_acquire); }
  RecentHandles() = default;
  RecentHandles(const RecentHandles&) = delete;
  RecentHandles& operator=(const RecentHandles&) = delete;

  void keep(std::string_view text, std::string_view bytes) {
    if (text.size() > kMaxText || bytes.size() > kMaxBytes || text.size() < kPrefix) return;
    Place& place = places()[index_of(text)];
    if (place.busy.test_and_set(std::memory_order_acquire)) return;
    place.text_size = static_cast<std::uint16_t>(text.size());
    place.bytes_size = static_cast<std::uint16_t>(bytes.size());
    std::memcpy(place.text, text.data(), text.size());
    std::memcpy(place.bytes, bytes.data(), bytes.size());
    place.busy.clear(std::memory_order_release);
  }

  // What `text` was made of, in `room` of kMaxBytes; none: not known.
  std::string_view find(std::string_view text, char* room) {
    Place* const all = places_.load(std::memory_order_acquire);
    if (all == nullptr || text.size() < kPrefix) return {};
    Place& place = all[index_of(text)];
    std::string_view found;
    if (place.busy.test_and_set(std::memory_order_acquire)) return found;
    if (place.text_size == text.size() && std::memcmp(place.text, text.data(), text.size()) == 0) {
      std::memcpy(room, place.bytes, kMaxBytes);
      found = {room, place.bytes_size};
    }
    place.busy.clear(std::memory_order_release);
    return found;
  }

 private:
  struct Place {
    std::atomic_flag busy;
    std::uint16_t text_size = 0;  // 0: nothing is kept here
    std::uint16_t bytes_size = 0;
    char text[kMaxText];
    char bytes[kMaxBytes];
  };
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
