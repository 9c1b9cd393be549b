// Seeds that must admit nothing too much, and faults that must be noticed. More seeds: `make sim`, or
//   WEIR_SIM_SEEDS=10000 build/bin/sim_tests
#include <gtest/gtest.h>

#include "tests/sim/seeds.h"
#include "tests/sim/simulation.h"

namespace weir::sim {
namespace {

constexpr std::uint64_t kNodeSeeds = 150;

// Within a hundred seeds.
bool is_noticed(Mutation mutation, Consistency consistency = Consistency::leased) {
  Setting setting;
  setting.consistency = consistency;
  setting.mutation = mutation;
  for (setting.seed = 1; setting.seed <= 100; ++setting.seed) {
    if (simulate(setting).over > 0) return true;
  }
  return false;
}

TEST(LeasedSimulation, NeverAdmitsTooMuch) {
  std::int64_t admitted = 0;
  std::uint64_t from_slices = 0;
  for_each_seed(kNodeSeeds, [&](std::uint64_t seed) {
    const Result result = simulate({.seed = seed});
    ASSERT_EQ(result.over, 0) << how_to_repeat(seed, result.story);
    admitted += result.admitted;
    from_slices += result.from_slices;
  });
  EXPECT_GT(admitted, 0);
  EXPECT_GT(from_slices, 0U) << "no slice was ever spent: nothing was tested";
}

TEST(LeasedSimulation, TheSameSeedIsTheSameRun) {
  const Result first = simulate({.seed = 7});
  const Result second = simulate({.seed = 7});
  EXPECT_EQ(first.admitted, second.admitted);
  EXPECT_EQ(first.store_calls, second.store_calls);
  EXPECT_EQ(first.story, second.story);
}

TEST(LeasedSimulation, NoticesDrawsThatDoNotPayForTheRefill) { EXPECT_TRUE(is_noticed(Mutation::no_floor)); }
TEST(LeasedSimulation, NoticesSlicesThatAreGivenBack) { EXPECT_TRUE(is_noticed(Mutation::slices_returned)); }

TEST(SyncedSimulation, NeverAdmitsMoreThanTheTolerance) {
  std::int64_t admitted = 0;
  std::uint64_t by_knowledge = 0;
  for_each_seed(kNodeSeeds, [&](std::uint64_t seed) {
    const Result result = simulate({.seed = seed, .consistency = Consistency::synced});
    ASSERT_EQ(result.over, 0) << how_to_repeat(seed, result.story);
    admitted += result.admitted;
    by_knowledge += result.from_slices;
  });
  EXPECT_GT(admitted, 0);
  EXPECT_GT(by_knowledge, 0U) << "the store was always asked: nothing was tested";
}

TEST(SyncedSimulation, NoticesANodeThatJoinsWithCreditAtOnce) {
  EXPECT_TRUE(is_noticed(Mutation::joins_with_credit, Consistency::synced));
}
TEST(SyncedSimulation, NoticesReportsThatAreNotChargedAsADebt) {
  EXPECT_TRUE(is_noticed(Mutation::reports_without_debt, Consistency::synced));
}

}  // namespace
}  // namespace weir::sim
