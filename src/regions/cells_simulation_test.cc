// Regions that reconcile a window, simulated by seed on one thread: writes and reads of the coordinator that are lost,
// late and repeated, partitions, nodes that crash, stores and a coordinator that lose their data.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

#include "regions/cells.h"
#include "tests/sim/seeds.h"

namespace weir::regions {
namespace {

struct Terms {
  std::int64_t limit = 1'000;
  std::int64_t tolerance = 100;
};

enum class CellFault : std::uint8_t {
  none,
  unbounded,  // the tolerance is not looked at: `continue`
};

struct CellRun {
  std::int64_t admitted = 0;
};

class CellWorld {
 public:
  CellWorld(std::uint64_t seed, CellFault fault, Terms terms = {}) : random_(seed), fault_(fault), terms_(terms) {
    regions_ = 2 + below(3);
    stores_.assign(regions_, 0);
    const std::size_t count = regions_ * (1 + below(2));
    for (std::size_t i = 0; i < count; ++i) nodes_.push_back({i % regions_, CellView(regions_, i % regions_), {}, {}});
  }

  CellRun run() {
    for (int step = 0; step < 6'000; ++step) {
      now_ += std::chrono::milliseconds(1);
      if (below(300) == 0) cut_ = below(2) == 0 ? regions_ : below(regions_);
      TestNode& node = nodes_[below(nodes_.size())];
      const std::uint64_t what = below(10);
      if (what < 7) {
        take(node);
      } else if (what < 9) {
        exchange(node);
      } else if (below(200) == 0) {
        node.view = CellView(regions_, node.region);  // crashed; what it was about to hear is gone
        node.waiting.reset();
      }
    }
    return result_;
  }

 private:
  struct TestNode {
    std::size_t region;
    CellView view;
    std::vector<Cell> written;                   // not committed yet
    std::unique_ptr<std::vector<Cell>> waiting;  // an answer that is under way
  };
  using CellKey = std::pair<std::size_t, std::int64_t>;

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void take(TestNode& node) {
    const Division own = divide_tolerance(terms_.limit, terms_.tolerance, regions_, node.region);
    const auto policy = fault_ == CellFault::unbounded ? OnPartition::continue_on : OnPartition::hold;
    const std::int64_t most = node.view.most(own.limit, own.part, policy);
    std::int64_t& used = stores_[node.region];
    if (used + 1 <= most) {
      used += 1;
      result_.admitted += 1;
    }
    if (used <= most) node.view.counted(used, now_);
  }

  // One step of an exchange at a time, so that those of several nodes overlap.
  void exchange(TestNode& node) {
    if (node.region == cut_) return;
    if (node.waiting != nullptr) {
      if (below(5) != 0) node.view.read(*node.waiting, now_);  // else lost
      node.waiting.reset();
      return;
    }
    if (node.written.empty()) {
      node.written = node.view.own_cells();
      if (below(5) == 0) node.written.clear();  // lost
      return;
    }
    for (const Cell& cell : node.written) merge(cell);
    if (below(4) != 0) node.written.clear();  // else it is repeated
    node.waiting = std::make_unique<std::vector<Cell>>(all_cells());
  }

  void merge(const Cell& cell) {
    std::int64_t& used = cells_[{cell.region, cell.epoch}];
    used = std::max(used, cell.used);
  }
  std::vector<Cell> all_cells() const {
    std::vector<Cell> all;
    for (const auto& [key, used] : cells_) all.push_back({key.first, key.second, used});
    return all;
  }

  std::mt19937_64 random_;
  CellFault fault_;
  Terms terms_;
  std::size_t regions_ = 2;
  std::size_t cut_ = 64;
  std::vector<std::int64_t> stores_;  // what each region's bucket counts
  std::vector<TestNode> nodes_;
  std::map<CellKey, std::int64_t> cells_;
  TimePoint now_ = from_micros(1'800'000'000'000'000);
  CellRun result_;
};

bool is_caught(CellFault fault) {
  const Terms terms;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    if (CellWorld(seed, fault, terms).run().admitted > terms.limit + terms.tolerance) return true;
  }
  return false;
}

void admits_no_more_than(Terms terms, std::uint64_t seeds) {
  std::int64_t used_up = 0;
  sim::for_each_seed(seeds, [&](std::uint64_t seed) {
    const CellRun run = CellWorld(seed, CellFault::none, terms).run();
    ASSERT_LE(run.admitted, terms.limit + terms.tolerance) << sim::how_to_repeat(seed);
    used_up += run.admitted >= terms.limit - 4 ? 1 : 0;
  });
  EXPECT_GT(used_up, 0) << "no limit was ever used up: nothing was tested";
}

TEST(RegionCells, AdmitNoMoreThanTheToleranceBeyondTheLimitWhateverHappens) { admits_no_more_than({}, 200); }

// As a plan or an override can bring them.
TEST(RegionCells, LimitsWhoseToleranceIsLessThanAUnitForEachRegionAreKeptToo) {
  for (const Terms terms : {Terms{50, 1}, Terms{20, 0}, Terms{4, 0}, Terms{2, 1}, Terms{2, 0}, Terms{1, 0}}) {
    SCOPED_TRACE(terms.limit);
    admits_no_more_than(terms, 50);
  }
}

TEST(RegionCells, CountingWithoutAToleranceIsCaught) { EXPECT_TRUE(is_caught(CellFault::unbounded)); }

TEST(CellView, EachRegionHasAPartAndTheyAreNoMoreThanTheTolerance) {
  EXPECT_EQ(divide_tolerance(1'000, 100, 3, 0), (Division{33, 1'000}));
  EXPECT_EQ(divide_tolerance(1'000, 3, 3, 2), (Division{1, 1'000}));
  EXPECT_EQ(divide_tolerance(1'000, 1, 3, 2), (Division{1, 998})) << "one unit each, of which two come off the limit";
  EXPECT_EQ(divide_tolerance(2, 0, 3, 1), (Division{1, 1}));
  EXPECT_EQ(divide_tolerance(2, 0, 3, 2), (Division{0, 1})) << "there are not enough for all regions";
}

TEST(CellView, GoesOnInANewCellWhenTheStoreHasLostItsData) {
  CellView view(2, 0);
  view.counted(30, from_micros(1));
  view.read({{0, 0, 30}, {1, 0, 100}}, from_micros(2));
  view.counted(1, from_micros(3));
  EXPECT_EQ(view.own_cells().size(), 2U);
  EXPECT_EQ(view.most(200, 40, OnPartition::continue_on), 200 - 100 - 30);
}

TEST(CellView, HoldsBackWhatTheOthersCannotKnow) {
  CellView view(2, 0);
  EXPECT_EQ(view.most(1'000, 25, OnPartition::hold), 25);
  view.counted(25, from_micros(1));
  EXPECT_EQ(view.most(1'000, 25, OnPartition::hold), 25);
  view.read({{0, 0, 25}}, from_micros(2));
  EXPECT_EQ(view.most(1'000, 25, OnPartition::hold), 50);
}

TEST(CellView, WhatIsReadAfterCellsWereLostIsNotKnownToTheOthers) {
  CellView view(2, 0);
  view.counted(25, from_micros(1));
  view.read({{0, 0, 25}, {1, 0, 100}}, from_micros(2), false);
  EXPECT_EQ(view.most(1'000, 25, OnPartition::hold), 25) << "as if it could not be heard";
  EXPECT_EQ(view.others(), 100) << "what is there still counts";
}

}  // namespace
}  // namespace weir::regions
