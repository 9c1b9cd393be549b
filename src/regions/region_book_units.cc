// Slices of windows: the part of RegionBook that counts in units.
#include <algorithm>

#include "regions/region_book.h"

namespace weir::regions {
namespace {

// Between requests for more of one key.
constexpr Duration kUnitsPause = std::chrono::milliseconds(20);

}  // namespace

RegionBook::UnitEntry* RegionBook::unit_entry(Shard& shard, const Charge& charge, const WindowAt& window,
                                              TimePoint now) {
  const auto found = shard.units.find(charge.key);
  UnitEntry* entry = found == shard.units.end() ? nullptr : &found->second;
  if (entry == nullptr) {
    if (!has_room(shard, now)) return nullptr;
    entry = &shard.units[charge.key];
  }
  if (entry->starts < window.starts) {
    *entry = UnitEntry{.rule = std::string(charge.rule), .starts = window.starts, .ends = window.ends, .used = now};
  }
  if (entry->starts != window.starts) return nullptr;
  entry->limit = charge.allowance->limit;
  return entry;
}

std::int64_t RegionBook::most_given(const Charge& charge, const WindowAt& window, TimePoint now) {
  const std::int64_t floor = floor_units(charge.allowance->limit, options_.map.size());
  Shard& shard = shard_of(charge.key);
  const std::lock_guard lock(shard.mutex);
  const UnitEntry* const entry = unit_entry(shard, charge, window, now);
  return entry == nullptr || window.near_edge ? floor : std::min(floor + entry->given, charge.allowance->limit);
}

void RegionBook::note_units(const Charge& charge, const WindowAt& window, std::optional<std::int64_t> used,
                            bool admitted, TimePoint now) {
  bool urgent = false;
  {
    Shard& shard = shard_of(charge.key);
    const std::lock_guard lock(shard.mutex);
    UnitEntry* const entry = unit_entry(shard, charge, window, now);
    if (entry == nullptr) return;
    entry->used = now;
    const std::int64_t has = floor_units(entry->limit, options_.map.size()) + entry->given;
    const bool wants = !admitted || (used && *used + *used / 2 >= has);
    urgent = wants && !entry->wants && now - entry->requested >= kUnitsPause;
    entry->wants = entry->wants || wants;
  }
  if (!admitted) count_denied(charge.rule);
  if (urgent) options_.urgent();
}

std::vector<RegionBook::UnitAsk> RegionBook::due_units(TimePoint now, std::size_t most) {
  std::vector<UnitAsk> due;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (auto& [key, entry] : shard.units) {
      if (due.size() == most) return due;
      if (!entry.wants || now - entry.requested < kUnitsPause) continue;
      entry.wants = false;
      entry.requested = now;
      due.push_back({key, entry.starts, entry.ends, {options_.map.own, entry.limit, entry.given, true}});
    }
  }
  return due;
}

void RegionBook::units_given(const BucketKey& key, TimePoint starts, std::int64_t given) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.units.find(key);
  if (found == shard.units.end() || found->second.starts != starts) return;
  found->second.given = std::max(found->second.given, given);
}

}  // namespace weir::regions
