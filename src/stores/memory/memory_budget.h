// MemoryBudget: the one account of what a memory store may take and has taken, and of whose buckets there are.
//
// Every array and block is reserved before it is made and released after it is gone, so the count never falls behind
// the heap, not even while a shard holds its old and its new array at once. One account for all shards, not a share
// for each: a single long sliding log may be larger than a shard's share.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>

#include "stores/memory/subject_counts.h"

namespace weir::memory {

// What the heap really spends on a block of `bytes`: its header, rounded to the heap's granularity, which for large
// blocks is a page.
constexpr std::size_t heap_bytes(std::size_t bytes) {
  constexpr std::size_t kHeader = 16;
  constexpr std::size_t kLargeBlock = std::size_t{128} << 10;
  const std::size_t granule = bytes < kLargeBlock ? 16 : 4096;
  return (bytes + kHeader + granule - 1) / granule * granule;
}

class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  enum class Purpose { grow, shrink };

  // A shard that shrinks needs its smaller array before it can give back the larger one, so a small part of the bound
  // is kept for that: without it, a full store could never become smaller.
  [[nodiscard]] bool reserve(std::size_t bytes, Purpose purpose = Purpose::grow) {
    const std::size_t bound = purpose == Purpose::shrink ? max_bytes_ : max_bytes_ - max_bytes_ / kShrinkShare;
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > bound || used > bound - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void release(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  std::size_t max_bytes() const { return max_bytes_; }

  SubjectCounts& subjects() { return subjects_; }
  const SubjectCounts& subjects() const { return subjects_; }

 private:
  static constexpr std::size_t kShrinkShare = 64;

  const std::size_t max_bytes_;
  std::atomic<std::size_t> used_{0};
  SubjectCounts subjects_;
};

}  // namespace weir::memory
