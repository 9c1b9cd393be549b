// StatusCounts: how many answers of each class one loop has sent: 2xx to 5xx, and "100 Continue" as 1xx.
//
// One writer, the loop, and any number of readers: a count is a relaxed load and a relaxed store, so that answering
// costs no locked instruction.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::http {

inline constexpr std::size_t kStatusClasses = 5;

class StatusCounts {
 public:
  // On the owning loop only.
  void count(int status) {
    if (status < 100 || status > 599) return;
    std::atomic<std::uint64_t>& counter = counts_[static_cast<std::size_t>(status / 100 - 1)];
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // From any thread. `hundreds` is 1 to 5.
  std::uint64_t of_class(std::size_t hundreds) const { return counts_[hundreds - 1].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, kStatusClasses> counts_{};
};

}  // namespace weir::http
