// LatencyCounts: how long things took, counted in buckets at the price of a plain store.
//
// One writer and any number of readers: a count is a relaxed load and a relaxed store. A bucket is a quarter of a
// doubling wide, so that a quantile is at most 25 % too high and the size does not depend on how many were counted.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weir::base {

inline constexpr std::size_t kLatencySteps = 4;       // buckets for each doubling
inline constexpr std::size_t kLatencyDoublings = 36;  // of nanoseconds: up to about a minute
inline constexpr std::size_t kLatencyBuckets = kLatencySteps * kLatencyDoublings;

// What was counted up to one moment. A plain value.
struct LatencySums {
  std::array<std::uint64_t, kLatencyBuckets> counts{};
  std::uint64_t total_ns = 0;

  std::uint64_t count() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t each : counts) sum += each;
    return sum;
  }
  LatencySums& operator+=(const LatencySums& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    total_ns += other.total_ns;
    return *this;
  }
  // What was counted since `earlier`, which must be of the same counts.
  LatencySums since(const LatencySums& earlier) const {
    LatencySums difference;
    for (std::size_t i = 0; i < counts.size(); ++i) difference.counts[i] = counts[i] - earlier.counts[i];
    difference.total_ns = total_ns - earlier.total_ns;
    return difference;
  }
};

// All values of a bucket are below its end.
inline std::size_t latency_bucket(std::uint64_t ns) {
  if (ns < kLatencySteps) return static_cast<std::size_t>(ns);
  const auto shift = static_cast<std::size_t>(std::bit_width(ns) - std::bit_width(kLatencySteps));
  const std::size_t bucket = kLatencySteps * shift + static_cast<std::size_t>(ns >> shift);
  return bucket < kLatencyBuckets ? bucket : kLatencyBuckets - 1;
}
inline std::uint64_t latency_bucket_end(std::size_t bucket) {
  if (bucket < 2 * kLatencySteps) return bucket + 1;
  const std::size_t shift = bucket / kLatencySteps - 1;
  return static_cast<std::uint64_t>(bucket % kLatencySteps + kLatencySteps + 1) << shift;
}

// The end of the bucket below which the share (in 1/1000) of all lies, in nanoseconds; 0 if there are none.
inline std::uint64_t latency_quantile(const LatencySums& sums, std::uint64_t per_mille) {
  std::uint64_t left = (sums.count() * per_mille + 999) / 1000;
  if (left == 0) return 0;
  for (std::size_t i = 0; i < sums.counts.size(); ++i) {
    if (sums.counts[i] >= left) return latency_bucket_end(i);
    left -= sums.counts[i];
  }
  return 0;
}

class LatencyCounts {
 public:
  // The writer only.
  void add(std::uint64_t ns) {
    increase(counts_[latency_bucket(ns)], 1);
    increase(total_ns_, ns);
  }

  LatencySums sums() const {
    LatencySums read;
    for (std::size_t i = 0; i < counts_.size(); ++i) read.counts[i] = counts_[i].load(std::memory_order_relaxed);
    read.total_ns = total_ns_.load(std::memory_order_relaxed);
    return read;
  }

 private:
  using Counter = std::atomic<std::uint64_t>;
  static void increase(Counter& counter, std::uint64_t by) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::array<Counter, kLatencyBuckets> counts_{};
  Counter total_ns_{0};
};

}  // namespace weir::base
