// What PostgreSQL keeps for regions, in memory: the same decisions (shares.h, units.h, cells.h) without SQL, on the
// world's time. Each function is one transaction.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "regions/region_book.h"
#include "regions/units.h"
#include "tests/sim/world.h"

namespace weir::sim {

// What is broken on purpose in a run of regions.
enum class RegionMutation : std::uint8_t {
  none,
  arrives_full,         // what a share grows by is there at once
  grows_unpaid,         // what is left in a bucket is worth more when its share grows
  given_before_lapse,   // shares that others may still use are given away
  units_forgotten,      // what others were given of a window is not looked at
  heard_before_commit,  // a region takes for known to the others what was never written
};

class RegionCoordinator {
 public:
  RegionCoordinator(World& world, std::size_t regions, Duration lease, RegionMutation mutation)
      : world_(world), regions_(regions), lease_(lease), mutation_(mutation) {}

  std::vector<regions::ShareAnswer> shares(const std::vector<regions::RegionBook::ShareAsk>& asks) {
    const TimePoint now = world_.now();
    const regions::ShareTerms terms{.regions = regions_, .lease = lease_, .learning = learning()};
    std::vector<regions::ShareAnswer> answers;
    bool lost = false;
    for (const auto& ask : asks) {
      std::vector<regions::ShareRow>& rows = shares_[order(ask.key)];
      if (mutation_ == RegionMutation::given_before_lapse) forget_others(rows, ask.request.region);
      answers.push_back(regions::decide_share(rows, ask.request, now, terms));
      lost = lost || answers.back().rows_lost;
    }
    if (lost) note_loss();
    return answers;
  }

  std::vector<std::int64_t> units(const std::vector<regions::RegionBook::UnitAsk>& asks) {
    std::vector<std::int64_t> given;
    for (const auto& ask : asks) {
      std::vector<regions::UnitRow>& kept = units_[{order(ask.key), ask.starts}];
      const auto is_own = [&ask](const regions::UnitRow& row) { return row.region == ask.request.region; };
      std::vector<regions::UnitRow> rows = kept;
      if (mutation_ == RegionMutation::units_forgotten) std::erase_if(rows, std::not_fn(is_own));
      const bool lost = regions::units_lost(rows, ask.request);
      if (lost) note_loss();
      given.push_back(regions::decide_units(rows, ask.request, regions_, lost || ask.starts < lost_ || learning()));
      std::erase_if(kept, is_own);
      kept.push_back({ask.request.region, given.back()});
    }
    return given;
  }

  void write_cells(const std::vector<regions::RegionBook::CellAsk>& asks) {
    for (const auto& ask : asks) {
      for (const regions::Cell& cell : ask.cells) {
        std::int64_t& used = cells_[{order(ask.key), ask.starts}][{cell.region, cell.epoch}];
        used = std::max(used, cell.used);
      }
    }
  }
  std::vector<std::vector<regions::Cell>> read_cells(const std::vector<regions::RegionBook::CellAsk>& asks) {
    std::vector<std::vector<regions::Cell>> all;
    for (const auto& ask : asks) {
      std::vector<regions::Cell>& cells = all.emplace_back();
      for (const auto& [whose, used] : cells_[{order(ask.key), ask.starts}]) {
        cells.push_back({whose.first, whose.second, used});
      }
    }
    return all;
  }

  // Cells of this window may be missing.
  bool complete(TimePoint starts) const { return starts >= lost_; }

  void lose_rows() {
    shares_.clear();
    units_.clear();
    cells_.clear();
    note_loss();
  }
  bool learning() const { return world_.now() < lost_ + lease_; }

 private:
  using Order = std::pair<std::uint64_t, std::uint64_t>;
  void note_loss() { lost_ = world_.now(); }
  static Order order(const BucketKey& key) { return {key.high, key.low}; }
  static void forget_others(std::vector<regions::ShareRow>& rows, std::size_t region) {
    for (regions::ShareRow& row : rows) {
      if (row.region != region) row.ends = row.held_until = TimePoint{};
    }
  }

  World& world_;
  const std::size_t regions_;
  const Duration lease_;
  const RegionMutation mutation_;
  TimePoint lost_{};
  std::map<Order, std::vector<regions::ShareRow>> shares_;
  std::map<std::pair<Order, TimePoint>, std::vector<regions::UnitRow>> units_;
  std::map<std::pair<Order, TimePoint>, std::map<std::pair<std::size_t, std::int64_t>, std::int64_t>> cells_;
};

}  // namespace weir::sim
