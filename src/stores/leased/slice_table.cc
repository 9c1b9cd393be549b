#include "stores/leased/slice_table.h"

namespace weir::leased {

SliceEntry* SliceTable::find(const BucketKey& key) {
  if (entries_.empty()) return nullptr;
  SliceEntry* const set = set_of(key);
  for (std::size_t i = 0; i < kWays; ++i) {
    if (set[i].key == key && set[i].allowance != nullptr) return &set[i];
  }
  return nullptr;
}

SliceEntry* SliceTable::admit(const BucketKey& key, TimePoint now, Duration step) {
  if (entries_.empty()) entries_.resize((mask_ + 1) * kWays);
  SliceEntry* const set = set_of(key);
  SliceEntry* least = nullptr;
  for (std::size_t i = 0; i < kWays; ++i) {
    SliceEntry& entry = set[i];
    if (entry.key == key && entry.allowance != nullptr) return &entry;
    if (entry.allowance == nullptr) {
      if (least == nullptr || least->allowance != nullptr) least = &entry;
      continue;
    }
    if (entry.ask != nullptr || entry.left(now) > 0) continue;
    entry.demand.age(now, entry.step);
    if (least == nullptr || (least->allowance != nullptr && entry.demand.level() < least->demand.level())) {
      least = &entry;
    }
  }
  if (least == nullptr) return nullptr;
  *least = SliceEntry{};
  least->key = key;
  least->step = step;
  return least;
}

}  // namespace weir::leased
