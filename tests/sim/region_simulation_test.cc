// Seeds of regions that must admit nothing too much together, and faults that must be noticed. More seeds: `make sim`.
#include <gtest/gtest.h>

#include "tests/sim/region_simulation.h"
#include "tests/sim/seeds.h"

namespace weir::sim {
namespace {

constexpr std::uint64_t kRegionSeeds = 60;

void admits_no_more(RegionSetting setting) {
  std::int64_t admitted = 0;
  std::uint64_t beyond_alone = 0;
  for_each_seed(kRegionSeeds, [&](std::uint64_t seed) {
    setting.seed = seed;
    const Result result = simulate_regions(setting);
    ASSERT_EQ(result.over, 0) << how_to_repeat(seed, result.story);
    admitted += result.admitted;
    beyond_alone += result.from_slices;
  });
  EXPECT_GT(admitted, 0);
  EXPECT_GT(beyond_alone, 0U) << "regions had no more than what they have without each other: nothing was tested";
}

// Within a hundred seeds.
bool is_noticed(RegionSetting setting) {
  for (setting.seed = 1; setting.seed <= 100; ++setting.seed) {
    if (simulate_regions(setting).over > 0) return true;
  }
  return false;
}

TEST(RegionSimulation, SlicesAdmitWhatOneBucketWould) { admits_no_more({}); }
TEST(RegionSimulation, SlicesOfAWindowAdmitNoMoreThanItsLimit) { admits_no_more({.window = true}); }
TEST(RegionSimulation, ReconcileAdmitsNoMoreThanTheTolerance) { admits_no_more({.sharing = RegionSharing::reconcile}); }
TEST(RegionSimulation, ReconcileThatContinuesAdmitsNoMoreThanTheLimitInEach) {
  admits_no_more({.sharing = RegionSharing::reconcile, .on_partition = OnPartition::continue_on});
}
TEST(RegionSimulation, ACentralRuleAdmitsWhatOneBucketWould) { admits_no_more({.sharing = RegionSharing::central}); }

TEST(RegionSimulation, TheSameSeedIsTheSameRun) {
  const Result first = simulate_regions({.seed = 7});
  const Result second = simulate_regions({.seed = 7});
  EXPECT_EQ(first.admitted, second.admitted);
  EXPECT_EQ(first.store_calls, second.store_calls);
  EXPECT_EQ(first.story, second.story);
}

TEST(RegionSimulation, NoticesAShareThatArrivesFull) {
  EXPECT_TRUE(is_noticed({.mutation = RegionMutation::arrives_full}));
}
TEST(RegionSimulation, NoticesAShareThatGrowsWithWhatIsInItsBucket) {
  EXPECT_TRUE(is_noticed({.mutation = RegionMutation::grows_unpaid}));
}
TEST(RegionSimulation, NoticesAShareGivenBeforeTheOldOneLapsed) {
  EXPECT_TRUE(is_noticed({.mutation = RegionMutation::given_before_lapse}));
}
TEST(RegionSimulation, NoticesUnitsOfAWindowThatAreGivenTwice) {
  EXPECT_TRUE(is_noticed({.window = true, .mutation = RegionMutation::units_forgotten}));
}
TEST(RegionSimulation, NoticesCountsThatWereNeverWritten) {
  EXPECT_TRUE(is_noticed({.sharing = RegionSharing::reconcile, .mutation = RegionMutation::heard_before_commit}));
}

}  // namespace
}  // namespace weir::sim
