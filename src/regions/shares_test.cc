#include "regions/shares.h"

#include <gmock/gmock.h>

#include "algorithms/bucket.h"
#include "regions/scaled_bucket.h"

namespace weir::regions {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr Duration kTestLease = seconds(10);
const TimePoint kTestStart = from_micros(1'800'000'000'000'000);

ShareTerms two_regions() { return {.regions = 2, .lease = kTestLease}; }

ShareAnswer ask(std::vector<ShareRow>& rows, std::size_t region, Ppm demand, TimePoint now, Ppm share = 0,
                std::int64_t epoch = 0) {
  return decide_share(
      rows, {.region = region, .node = "n" + std::to_string(region), .demand = demand, .share = share, .epoch = epoch},
      now, two_regions());
}

TEST(DivideByDemand, GivesWhatIsWantedBeforeMoreThanAnEqualPart) {
  EXPECT_THAT(divide_by_demand({100'000, 4 * kWhole, 4 * kWhole}), ElementsAre(125'000, 437'500, 437'500));
}

TEST(DivideByDemand, NeverGivesLessThanTheFloor) {
  EXPECT_THAT(divide_by_demand({0, 4 * kWhole}), ElementsAre(150'000, 850'000));
}

TEST(DivideByDemand, KeepsHalfOfTheRestFree) {
  EXPECT_THAT(divide_by_demand({400'000, 0}), ElementsAre(500'000 + 175'000, 150'000));
}

TEST(DecideShare, GivesOnlyWhatNoOtherRegionMayStillUse) {
  std::vector<ShareRow> rows;
  EXPECT_EQ(ask(rows, 0, 4 * kWhole, kTestStart).share, 850'000);
  EXPECT_EQ(ask(rows, 1, 4 * kWhole, kTestStart + seconds(1)).share, 150'000);
  // The first region renews, and is cut: what it had stays occupied until its first lease ends.
  EXPECT_EQ(ask(rows, 0, 4 * kWhole, kTestStart + seconds(5)).share, 500'000);
  EXPECT_EQ(ask(rows, 1, 4 * kWhole, kTestStart + seconds(9)).share, 150'000);
  EXPECT_EQ(ask(rows, 1, 4 * kWhole, kTestStart + seconds(10)).share, 500'000);
}

TEST(DecideShare, GivesNothingWhileItLearnsAndKeepsWhatNodesSayTheyHave) {
  std::vector<ShareRow> rows;
  ShareTerms terms = two_regions();
  terms.learning = true;
  const ShareAnswer none =
      decide_share(rows, {.region = 0, .node = "a", .share = 800'000, .epoch = 7}, kTestStart, terms);
  EXPECT_FALSE(none.granted);
  EXPECT_EQ(ask(rows, 1, 4 * kWhole, kTestStart + seconds(1)).share, 200'000);
}

TEST(DecideShare, NoticesThatItsRowsWereLost) {
  std::vector<ShareRow> rows;
  const ShareAnswer answer = ask(rows, 0, kWhole, kTestStart, 800'000, 3);
  EXPECT_TRUE(answer.rows_lost);
  EXPECT_FALSE(answer.granted);
}

TEST(HeldShare, IsTheFloorWithoutALease) {
  HeldShare held(150'000);
  EXPECT_EQ(held.at(kTestStart), 150'000);
  held.answered({.granted = true, .share = 100'000, .lasts = kTestLease, .epoch = 1}, kTestStart, kTestStart);
  EXPECT_EQ(held.at(kTestStart), 100'000);
  EXPECT_EQ(held.at(kTestStart + kTestLease), 150'000);
}

TEST(HeldShare, UsesMoreOnlyAfterTheBucketWasTold) {
  HeldShare held(150'000);
  held.answered({.granted = true, .share = 700'000, .lasts = kTestLease, .epoch = 1}, kTestStart, kTestStart);
  EXPECT_EQ(held.at(kTestStart), 150'000);
  const auto growth = held.growth(kTestStart);
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->from, 150'000);
  EXPECT_EQ(growth->to, 700'000);
  held.grown(*growth, kTestStart);
  EXPECT_EQ(held.at(kTestStart), 700'000);
}

TEST(HeldShare, IgnoresAnswersThatAreOlderThanWhatItKnows) {
  HeldShare held(150'000);
  held.answered({.granted = true, .share = 150'000, .lasts = kTestLease, .epoch = 5}, kTestStart, kTestStart);
  held.answered({.granted = true, .share = 700'000, .lasts = kTestLease, .epoch = 4}, kTestStart, kTestStart);
  EXPECT_FALSE(held.growth(kTestStart).has_value());
}

TEST(ScaledBucket, AShareThatGrowsIsWorthNoMoreThanBefore) {
  AllowanceSpec spec;
  spec.limit = 1'000;
  spec.window = seconds(100);
  const Allowance rule = make_allowance(spec).value();
  std::int64_t head[algorithms::kHeadWords] = {};
  const algorithms::BucketWords words{algorithms::Head(head), {}};
  const ScaledBucket small = ScaledBucket::of(rule, 150'000);
  const ScaledBucket large = ScaledBucket::of(rule, 850'000);
  const std::int64_t before = algorithms::evaluate(small.allowance, words, kTestStart, 0).remaining;
  ASSERT_EQ(small.units(before), 150);
  algorithms::charge_beyond(large.allowance, words, kTestStart, growth_charge(large, before, small.share));
  const std::int64_t after = algorithms::evaluate(large.allowance, words, kTestStart, 0).remaining;
  EXPECT_LE(large.units(after), 150);
  EXPECT_GE(large.units(after), 148);
}

TEST(ScaledBucket, RoundsCostsUpByLittle) {
  AllowanceSpec spec;
  spec.limit = 1'000;
  spec.window = seconds(1);
  const ScaledBucket third = ScaledBucket::of(make_allowance(spec).value(), 333'333);
  EXPECT_EQ(third.cost(1), 3'001);
  EXPECT_EQ(third.units(third.allowance.burst), 333);
}

}  // namespace
}  // namespace weir::regions
