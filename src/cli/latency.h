// Latencies: counts by duration in buckets that are at most 1/16 wide, so that a percentile is within 6.25 % and the
// size does not depend on how many there were. Not thread-safe; merge() adds those of another thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace weir::cli {

class Latencies {
 public:
  void add(std::int64_t micros) {
    ++counts_[bucket_of(micros < 0 ? 0 : static_cast<std::uint64_t>(micros))];
    ++total_;
    largest_ = micros > largest_ ? micros : largest_;
  }
  void merge(const Latencies& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
    largest_ = other.largest_ > largest_ ? other.largest_ : largest_;
  }
  std::uint64_t total() const { return total_; }
  std::int64_t largest() const { return largest_; }

  // The upper end of the bucket with the given share (in 1/1000) of all, but not above the largest; 0 if there are
  // none.
  std::int64_t percentile(std::uint64_t per_mille) const {
    std::uint64_t left = (total_ * per_mille + 999) / 1000;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] >= left && left > 0) return std::min(static_cast<std::int64_t>(upper_end(i)), largest_);
      left -= counts_[i];
    }
    return 0;
  }

 private:
  static constexpr std::size_t kSteps = 16;  // buckets for each doubling

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kSteps) return static_cast<std::size_t>(value);
    const std::size_t shift = static_cast<std::size_t>(std::bit_width(value) - std::bit_width(kSteps));
    return kSteps * shift + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t upper_end(std::size_t bucket) {
    if (bucket < 2 * kSteps) return bucket;
    const std::size_t shift = bucket / kSteps - 1;
    return ((bucket % kSteps + kSteps + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kSteps * 62> counts_{};
  std::uint64_t total_ = 0;
  std::int64_t largest_ = 0;
};

}  // namespace weir::cli
