// QuantileSketch: about how large past values were, in bounded memory. Newer ones weigh more: when there are kMost, all
// counts are halved.
//
// A value is counted by its size: up to 16 exactly, beyond that in sixteenths of a power of two, so that a quantile is
// at most 1/16 too high and never too low for what was counted. Not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "weir/allowance.h"

namespace weir::engine {

class QuantileSketch {
 public:
  static constexpr std::size_t kParts = 16;
  static constexpr std::size_t kSizes = kParts + 36 * kParts;  // up to 2^40, which is more than kMaxUnits
  static constexpr std::uint32_t kMost = 4'096;
  static_assert(kMaxUnits < (std::int64_t{1} << 40));

  // Precondition: 0 to kMaxUnits.
  void add(std::int64_t value) {
    ++counts_[size_of(value)];
    if (++total_ >= kMost) halve();
  }
  std::uint32_t total() const { return total_; }
  // A value that `percent` of those counted do not exceed. Precondition: total() > 0.
  std::int64_t quantile(int percent) const {
    const std::uint64_t wanted = (std::uint64_t{total_} * static_cast<std::uint64_t>(percent) + 99) / 100;
    std::uint64_t passed = 0;
    for (std::size_t size = 0; size < kSizes; ++size) {
      passed += counts_[size];
      if (passed > 0 && passed >= wanted) return largest_of(size);
    }
    return kMaxUnits;
  }

  // How often each size was counted, for files.
  const std::array<std::uint16_t, kSizes>& counts() const { return counts_; }
  // False, and nothing has changed: more than can have been counted.
  bool restore(const std::array<std::uint16_t, kSizes>& counts) {
    std::uint64_t total = 0;
    for (const std::uint16_t count : counts) total += count;
    if (total >= kMost) return false;
    counts_ = counts;
    total_ = static_cast<std::uint32_t>(total);
    return true;
  }

 private:
  static std::size_t size_of(std::int64_t value) {
    const auto number = static_cast<std::uint64_t>(value);
    if (number < kParts) return static_cast<std::size_t>(number);
    const auto power = static_cast<std::size_t>(std::bit_width(number)) - 1;  // 4 to 39
    return kParts + (power - 4) * kParts + static_cast<std::size_t>(number >> (power - 4) & (kParts - 1));
  }
  static std::int64_t largest_of(std::size_t size) {
    if (size < kParts) return static_cast<std::int64_t>(size);
    const std::size_t shift = (size - kParts) / kParts;
    const std::uint64_t next = (kParts + size % kParts + 1) << shift;
    return static_cast<std::int64_t>(next - 1);
  }
  void halve() {
    total_ = 0;
    for (std::uint16_t& count : counts_) {
      count = static_cast<std::uint16_t>(count / 2);
      total_ += count;
    }
  }

  std::array<std::uint16_t, kSizes> counts_{};
  std::uint32_t total_ = 0;
};

}  // namespace weir::engine
