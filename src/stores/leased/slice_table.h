// SliceTable: the keys that this node knows something about: how much they are asked for, and what it has of them.
//
// Bounded: a set of kWays entries for each part of the keys. A newcomer takes the place of the entry that is asked for
// least and has nothing to lose; where all of a set are in use it is not kept, and its requests ask the store.
// Entries stay in place, but may be given to another key by the next admit(). For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stores/leased/slice.h"
#include "weir/bucket_key.h"
#include "weir/store.h"

namespace weir::leased {

class Ask;

struct SliceEntry {
  BucketKey key;
  const Allowance* allowance = nullptr;  // compared, never read; null: no entry
  std::uint64_t version = 0;             // of the rules that it was drawn under
  Slice current;
  Slice next;  // drawn while the current one was still being spent
  Demand demand;
  Duration step{0};             // of the demand
  Ask* ask = nullptr;           // under way
  TimePoint paced_until{};      // the store had next to nothing: it is not asked before this
  std::int64_t store_left = 0;  // as the store said last
  TimePoint full_at{};          // when the bucket would be full again, as the store said last
  Duration round_trip{0};       // of an ask, averaged
  TimePoint hot_since{};        // asked for often enough since; epoch: not
  TimePoint cool_since{};       // asked for too little since; epoch: not
  bool hot = false;

  std::int64_t left(TimePoint now) const {
    return (current.live(now) ? current.left : 0) + (next.live(now) ? next.left : 0);
  }
};

class SliceTable {
 public:
  static constexpr std::size_t kWays = 4;

  // `sets`: a power of two.
  explicit SliceTable(std::size_t sets = 1'024) : mask_(sets - 1) {}

  // Null: not kept.
  SliceEntry* find(const BucketKey& key);
  // The key's entry, which may be a new one. Null: there is no place for it. `step` as for Demand.
  SliceEntry* admit(const BucketKey& key, TimePoint now, Duration step);

  template <typename Use>
  void for_each(Use use) {
    for (SliceEntry& entry : entries_) {
      if (entry.allowance != nullptr) use(entry);
    }
  }

 private:
  SliceEntry* set_of(const BucketKey& key) { return &entries_[(key.high & mask_) * kWays]; }

  const std::size_t mask_;
  std::vector<SliceEntry> entries_;  // empty until the first key is kept
};

}  // namespace weir::leased
