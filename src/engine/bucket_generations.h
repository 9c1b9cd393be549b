// BucketGenerations: what the prefilters of one node's loops share, so that a refund or reset through one loop is seen
// by all of them.
//
// A number for each stripe of buckets grows whenever a bucket of the stripe may admit earlier than a denial has said.
// A denial is trusted only while the number is what it was before the store was asked; so a denial that was on its
// way while another loop refunded is not trusted either. Two buckets that share a stripe cost each other one call to
// the store, nothing else.
//
// Where an answer is kept in which a bucket admitted, it is watched: a charge that leaves less than was asked for then
// advances the number, too.
//
// Thread-safe and lock-free: reading is one load from a line that only refunds write to. A fixed 192 KiB.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "weir/store.h"

namespace weir::engine {

class BucketGenerations {
 public:
  static constexpr std::size_t kStripes = 16'384;  // a power of two

  // 32 bits: nothing is trusted for long enough that they could come round.
  std::uint32_t of(const BucketKey& key) const { return stripe(key).load(std::memory_order_acquire); }

  // To be called before the change is answered.
  void advance(const BucketKey& key) { stripes_[key.low & (kStripes - 1)].fetch_add(1, std::memory_order_acq_rel); }

  // From now on a charge that leaves less than `units` advances it. To be called before of() is asked.
  void watch(const BucketKey& key, std::int64_t units) {
    std::atomic<std::int64_t>& watched = watched_[key.low & (kStripes - 1)];
    if (watched.load(std::memory_order_acquire) < units) watched.store(units, std::memory_order_release);
  }
  // To be called for every charge that the store has made.
  void note_left(const BucketKey& key, std::int64_t units) {
    std::atomic<std::int64_t>& watched = watched_[key.low & (kStripes - 1)];
    if (units >= watched.load(std::memory_order_acquire)) return;
    watched.store(0, std::memory_order_release);
    advance(key);
  }

  // The same as long as none of the charges' generations has changed.
  std::uint64_t sum_of(std::span<const Charge> charges) const {
    std::uint64_t sum = 0;
    for (const Charge& charge : charges) sum += of(charge.key);
    return sum;
  }

 private:
  const std::atomic<std::uint32_t>& stripe(const BucketKey& key) const { return stripes_[key.low & (kStripes - 1)]; }

  std::array<std::atomic<std::uint32_t>, kStripes> stripes_{};
  std::array<std::atomic<std::int64_t>, kStripes> watched_{};  // 0: not watched
};

}  // namespace weir::engine
