#include "regions/units.h"

#include <gtest/gtest.h>

#include <random>

namespace weir::regions {
namespace {

TEST(DecideUnits, GivesAPartOfWhatIsLeft) {
  std::vector<UnitRow> rows;
  EXPECT_EQ(floor_units(1'000, 2), 150);
  EXPECT_EQ(decide_units(rows, {.region = 0, .limit = 1'000, .wants = true}, 2, false), 175);
  EXPECT_EQ(decide_units(rows, {.region = 1, .limit = 1'000, .wants = true}, 2, false), 131);
  EXPECT_EQ(decide_units(rows, {.region = 1, .limit = 1'000, .known = 131}, 2, false), 131);
}

TEST(DecideUnits, GivesNothingWhileItLearnsButTakesWhatItIsTold) {
  std::vector<UnitRow> rows;
  EXPECT_EQ(decide_units(rows, {.region = 0, .limit = 1'000, .known = 600, .wants = true}, 2, true), 600);
  EXPECT_EQ(decide_units(rows, {.region = 1, .limit = 1'000, .wants = true}, 2, false), 25);
}

// Messages that are lost, late and repeated: a region knows less than it was given, or is told again.
TEST(DecideUnits, NeverGivesMoreThanTheLimitAndGivesAllOfIt) {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t regions = 2 + random() % 3;
    const auto limit = static_cast<std::int64_t>(random() % 5'000);
    std::vector<UnitRow> rows;
    std::vector<std::int64_t> known(regions, 0);
    for (int step = 0; step < 400; ++step) {
      const std::size_t region = random() % regions;
      const std::int64_t given =
          decide_units(rows, {.region = region, .limit = limit, .known = known[region], .wants = true}, regions, false);
      if (random() % 3 != 0) known[region] = given;
    }
    std::int64_t all = static_cast<std::int64_t>(regions) * floor_units(limit, regions);
    for (const UnitRow& row : rows) all += row.given;
    ASSERT_EQ(all, limit) << "seed " << seed;
  }
}

TEST(RegionUnits, ARegionThatKnowsOfMoreThanItsRowShowsThatRowsAreLost) {
  const std::vector<UnitRow> rows = {{0, 40}, {1, 70}};
  EXPECT_FALSE(units_lost(rows, {.region = 1, .limit = 1'000, .known = 70, .wants = true}));
  EXPECT_TRUE(units_lost(rows, {.region = 1, .limit = 1'000, .known = 71, .wants = true}));
  EXPECT_TRUE(units_lost({}, {.region = 1, .limit = 1'000, .known = 1, .wants = true}));
  EXPECT_FALSE(units_lost({}, {.region = 1, .limit = 1'000, .known = 0, .wants = true}));
}

}  // namespace
}  // namespace weir::regions
