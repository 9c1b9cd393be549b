// RegionBook: what one node knows of the limits that it shares with other regions, by key. Loops ask it what they may
// use and tell it what came of it; the coordinator's agent takes from it what is to be asked and told, and puts the
// answers in.
//
// Only keys that are in use have an entry, and at most `max_keys`: a key without one gets the floor, or the least part
// of the tolerance. Thread-safe: entries are in shards with a lock each, which is held for a few hundred instructions
// and never while something is called.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "regions/cells.h"
#include "regions/region_map.h"
#include "regions/shares.h"
#include "regions/units.h"
#include "weir/bucket_key.h"
#include "weir/region_terms.h"
#include "weir/store.h"

namespace weir::regions {

struct BookOptions {
  RegionMap map;
  std::string node;  // unique among all nodes and their restarts
  Duration lease = std::chrono::seconds(10);
  std::size_t max_keys = 100'000;
  // Called without a lock when the coordinator should be asked soon.
  std::function<void()> urgent = [] {};
};

// A window of a fixed-window rule.
struct WindowAt {
  TimePoint starts;
  TimePoint ends;
  bool near_edge = false;  // a clock that differs by kClockDifference is in another window
};
inline constexpr Duration kClockDifference = std::chrono::milliseconds(100);
WindowAt window_at(const Allowance& allowance, TimePoint wall);

class RegionBook {
 public:
  explicit RegionBook(BookOptions options);

  const RegionMap& map() const { return options_.map; }

  // --- slices, for loops ---
  struct Usable {
    Ppm share = 0;
    // To be told to the bucket, by this caller; then grown() or growth_failed() is called.
    std::optional<HeldShare::Growth> growth = {};
  };
  Usable share_of(const Charge& charge, TimePoint now);
  void note_share(const Charge& charge, bool admitted, TimePoint now);
  void grown(const BucketKey& key, const HeldShare::Growth& growth, TimePoint now);
  void growth_failed(const BucketKey& key);

  // --- windows, of slices and reconcile, for loops ---
  // How much the region's bucket may count in this window.
  std::int64_t most_of(const Charge& charge, const WindowAt& window, TimePoint now);
  // It counts so much; nothing: unknown.
  void note_count(const Charge& charge, const WindowAt& window, std::optional<std::int64_t> used, bool admitted,
                  TimePoint asked, TimePoint now);

  // --- for the agent ---
  struct ShareAsk {
    BucketKey key;
    ShareRequest request;
  };
  std::vector<ShareAsk> due_shares(TimePoint now, std::size_t most);
  // Nothing: there was no answer.
  void share_answered(const BucketKey& key, const std::optional<ShareAnswer>& answer, TimePoint sent, TimePoint now);

  struct CellAsk {
    BucketKey key;
    TimePoint starts;
    TimePoint ends;
    std::vector<Cell> cells;
  };
  std::vector<CellAsk> due_cells(TimePoint now, Duration pause, std::size_t most);
  void cells_read(const BucketKey& key, TimePoint starts, const std::vector<Cell>& cells, TimePoint now,
                  bool complete = true);

  struct UnitAsk {
    BucketKey key;
    TimePoint starts;
    TimePoint ends;
    UnitRequest request;
  };
  std::vector<UnitAsk> due_units(TimePoint now, std::size_t most);
  // In all, in that window.
  void units_given(const BucketKey& key, TimePoint starts, std::int64_t given);

  // Forgets what is no longer in use.
  void sweep(TimePoint now);

  struct RuleFigures {
    std::string rule;
    std::uint64_t denied = 0;  // by the share or the tolerance, not by the whole limit
    std::size_t keys = 0;
    Ppm share = 0;  // the mean of its keys
  };
  // At most kMaxRules of them.
  std::vector<RuleFigures> figures(TimePoint now) const;
  static constexpr std::size_t kMaxRules = 100;

 private:
  static constexpr std::size_t kShards = 64;

  struct ShareEntry {
    explicit ShareEntry(Ppm floor) : held(floor) {}
    HeldShare held;
    std::string rule;
    std::int64_t rate_units = 1;
    std::int64_t rate_ticks = 1;
    std::int64_t asked = 0;  // units since `since`, with the denied ones
    std::int64_t denied = 0;
    TimePoint since{};
    TimePoint used{};
    TimePoint requested{};
    Ppm demand = 0;
    bool in_flight = false;  // a request to the coordinator
    bool growing = false;    // a loop is telling the bucket
  };
  struct CellEntry {
    CellView view;
    std::string rule;
    TimePoint starts;
    TimePoint ends;
    TimePoint used;
    TimePoint exchanged{};
    bool wants = false;  // something was denied that more knowledge may admit
  };
  // Of slices on a window.
  struct UnitEntry {
    std::string rule;
    TimePoint starts;
    TimePoint ends;
    TimePoint used;
    TimePoint requested{};
    std::int64_t limit = 0;
    std::int64_t given = 0;
    bool wants = false;  // more, before what it has is used up
  };
  struct KeyHash {
    std::size_t operator()(const BucketKey& key) const { return key.high ^ key.low; }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<BucketKey, ShareEntry, KeyHash> shares;  // guarded by mutex, like the next
    std::unordered_map<BucketKey, CellEntry, KeyHash> cells;
    std::unordered_map<BucketKey, UnitEntry, KeyHash> units;
    std::size_t size() const { return shares.size() + cells.size() + units.size(); }
  };
  Shard& shard_of(const BucketKey& key) { return shards_[key.high % kShards]; }
  Ppm floor() const { return floor_share(options_.map.size()); }
  // Null: there is no room.
  ShareEntry* share_entry(Shard& shard, const Charge& charge, TimePoint now);
  CellEntry* cell_entry(Shard& shard, const Charge& charge, const WindowAt& window, TimePoint now);
  UnitEntry* unit_entry(Shard& shard, const Charge& charge, const WindowAt& window, TimePoint now);
  bool has_room(Shard& shard, TimePoint now) const;
  std::int64_t most_given(const Charge& charge, const WindowAt& window, TimePoint now);
  void note_units(const Charge& charge, const WindowAt& window, std::optional<std::int64_t> used, bool admitted,
                  TimePoint now);
  bool is_due(const ShareEntry& entry, TimePoint now) const;
  void measure(ShareEntry& entry, TimePoint now) const;
  void forget_idle(Shard& shard, TimePoint now) const;
  void count_denied(std::string_view rule);

  const BookOptions options_;
  const std::size_t most_in_shard_;
  std::array<Shard, kShards> shards_;
  mutable std::mutex figures_mutex_;
  std::map<std::string, std::uint64_t, std::less<>> denied_;  // guarded by figures_mutex_
};

}  // namespace weir::regions
