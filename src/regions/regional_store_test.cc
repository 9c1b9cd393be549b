#include "regions/regional_store.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/slow_store.h"

namespace weir::regions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// 15 % of 1,000, of which rounding costs up takes a part of one.
constexpr int kFloorUnits = 149;

class RegionalStoreTest : public testing::Test {
 protected:
  RegionalStoreTest() {
    BookOptions options;
    options.map = {{"eu", "us"}, 0};
    options.node = "n1";
    book_ = std::make_shared<RegionBook>(std::move(options));
    store_ = std::make_unique<RegionalStore>(
        RegionalOptions{.store = own_, .region = "eu", .homes = {{"us", home_}}, .book = book_, .clock = clock_});
    slices_.sharing = RegionSharing::slices;
    reconcile_.sharing = RegionSharing::reconcile;
    central_.sharing = RegionSharing::central;
    central_.home = "us";
  }

  Charge charge(const Allowance& allowance, const RegionTerms* region, std::uint64_t key = 1, std::int64_t cost = 1) {
    Charge charge;
    charge.key = {key, key};
    charge.allowance = &allowance;
    charge.rule = "rule";
    charge.cost = cost;
    charge.region = region;
    return charge;
  }
  CountingCall call(std::vector<Charge> charges, Action action = Action::take) {
    return {action, clock_->now(), std::move(charges)};
  }
  bool take(const Allowance& allowance, const RegionTerms& region) {
    CountingCall one = call({charge(allowance, &region)});
    EXPECT_TRUE(store_->begin(one));
    EXPECT_TRUE(one.regional);
    return one.outcomes[0].admitted;
  }
  int taken(const Allowance& allowance, const RegionTerms& region, int attempts) {
    int admitted = 0;
    for (int i = 0; i < attempts; ++i) admitted += take(allowance, region) ? 1 : 0;
    return admitted;
  }
  void give(Ppm share, std::int64_t epoch) {
    book_->share_answered({1, 1}, ShareAnswer{.granted = true, .share = share, .lasts = seconds(10), .epoch = epoch},
                          clock_->now(), clock_->now());
  }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::shared_ptr<SlowStore> own_ = std::make_shared<SlowStore>();
  const std::shared_ptr<SlowStore> home_ = std::make_shared<SlowStore>();
  std::shared_ptr<RegionBook> book_;
  std::unique_ptr<RegionalStore> store_;
  const Allowance bucket_ = allowance_of(Algorithm::token_bucket, 1'000, seconds(10));
  const Allowance window_ = allowance_of(Algorithm::fixed_window, 1'000, std::chrono::hours(24));
  RegionTerms slices_;
  RegionTerms reconcile_;
  RegionTerms central_;
};

TEST_F(RegionalStoreTest, WithoutALeaseARegionHasItsFloor) { EXPECT_EQ(taken(bucket_, slices_, 1'000), kFloorUnits); }

TEST_F(RegionalStoreTest, AShareThatGrowsArrivesEmptyAndFillsWithTime) {
  EXPECT_EQ(taken(bucket_, slices_, 1'000), kFloorUnits);
  give(750'000, 1);
  EXPECT_LE(taken(bucket_, slices_, 100), 1);
  clock_->advance(seconds(1));  // three quarters of 100 per second, less what growing costs
  const int after = taken(bucket_, slices_, 1'000);
  EXPECT_LE(after, 76);
  EXPECT_GE(after, 66);
}

TEST_F(RegionalStoreTest, AnIdleBucketDoesNotGrowWithItsShare) {
  EXPECT_TRUE(take(bucket_, slices_));
  give(850'000, 1);
  EXPECT_LE(taken(bucket_, slices_, 1'000), 150);
}

TEST_F(RegionalStoreTest, AShareThatIsCutIsWorthLessAtOnce) {
  EXPECT_TRUE(take(bucket_, slices_));
  give(850'000, 1);
  EXPECT_TRUE(take(bucket_, slices_));
  clock_->advance(seconds(9));
  give(200'000, 2);
  EXPECT_LE(taken(bucket_, slices_, 1'000), 201);
}

TEST_F(RegionalStoreTest, WhenItsLeaseEndsARegionFallsToItsFloor) {
  EXPECT_TRUE(take(bucket_, slices_));
  give(850'000, 1);
  EXPECT_TRUE(take(bucket_, slices_));
  clock_->advance(seconds(60));
  EXPECT_EQ(taken(bucket_, slices_, 1'000), kFloorUnits);
}

TEST_F(RegionalStoreTest, TellsTheCoordinatorOfDemandWithDenials) {
  EXPECT_EQ(taken(bucket_, slices_, 400), kFloorUnits);
  clock_->advance(seconds(2));
  const auto due = book_->due_shares(clock_->now(), 10);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].request.demand, 2'000'000);  // 400 in 2 s, of 100 per second
  EXPECT_EQ(due[0].request.share, 150'000);
}

TEST_F(RegionalStoreTest, ASubjectThatNeedsNoMoreThanItsFloorIsNotAskedAbout) {
  EXPECT_EQ(taken(bucket_, slices_, 5), 5);
  clock_->advance(seconds(2));
  EXPECT_TRUE(book_->due_shares(clock_->now(), 10).empty());
}

TEST_F(RegionalStoreTest, ARefundGoesIntoTheRegionsBucket) {
  EXPECT_EQ(taken(bucket_, slices_, 1'000), kFloorUnits);
  CountingCall refund = call({charge(bucket_, &slices_, 1, 10)}, Action::refund);
  EXPECT_TRUE(store_->begin(refund));
  EXPECT_EQ(taken(bucket_, slices_, 1'000), 10);
}

TEST_F(RegionalStoreTest, AReservationOfADividedBucketIsRefused) {
  HoldStep hold;
  hold.reservation = true;
  CountingCall reserve = call({charge(bucket_, &slices_)});
  reserve.hold = &hold;
  EXPECT_TRUE(store_->begin(reserve));
  EXPECT_FALSE(reserve.outcomes[0].admitted);
  EXPECT_TRUE(reserve.outcomes[0].too_large);
}

TEST_F(RegionalStoreTest, AWindowInSlicesIsItsFloorAndWhatWasGiven) {
  clock_->advance(std::chrono::hours(1));
  EXPECT_EQ(taken(window_, slices_, 300), 150);
  const auto due = book_->due_units(clock_->now(), 10);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].request.limit, 1'000);
  book_->units_given(due[0].key, due[0].starts, 175);
  EXPECT_EQ(taken(window_, slices_, 300), 175);
  clock_->advance(std::chrono::hours(24));
  EXPECT_EQ(taken(window_, slices_, 300), 150) << "another window";
}

TEST_F(RegionalStoreTest, ReconcileStopsAtItsPartOfTheToleranceUntilItIsHeard) {
  clock_->set(from_micros(1'800'000'000'000'000) + std::chrono::hours(1));
  EXPECT_EQ(taken(window_, reconcile_, 100), 25);  // 5 % of 1,000, for two regions
  const auto due = book_->due_cells(clock_->now(), milliseconds(200), 10);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].cells[0].used, 25);
  book_->cells_read(due[0].key, due[0].starts, {{0, 0, 25}, {1, 0, 960}}, clock_->now());
  EXPECT_EQ(taken(window_, reconcile_, 100), 1'000 - 960 - 25);
}

TEST_F(RegionalStoreTest, ReconcileThatContinuesDoesNotWaitToBeHeard) {
  reconcile_.on_partition = OnPartition::continue_on;
  EXPECT_EQ(taken(window_, reconcile_, 1'100), 1'000);
}

TEST_F(RegionalStoreTest, ACentralRuleIsCountedAtItsHome) {
  EXPECT_EQ(taken(window_, central_, 1'010), 1'000);
  EXPECT_EQ(own_->calls, 0);
}

TEST_F(RegionalStoreTest, AtItsHomeACentralRuleIsCountedHere) {
  central_.home = "eu";
  EXPECT_TRUE(take(window_, central_));
  EXPECT_EQ(own_->calls, 1);
  EXPECT_EQ(home_->calls, 0);
}

TEST_F(RegionalStoreTest, WhatTheHomeDeniesIsGivenBackHere) {
  const Allowance one = allowance_of(Algorithm::fixed_window, 1, std::chrono::hours(24));
  EXPECT_TRUE(take(one, central_));
  CountingCall both = call({charge(window_, nullptr, 2), charge(one, &central_, 1)});
  EXPECT_TRUE(store_->begin(both));
  EXPECT_TRUE(both.outcomes[0].admitted);
  EXPECT_FALSE(both.outcomes[1].admitted);
  EXPECT_FALSE(both.atomic);
  CountingCall look = call({charge(window_, nullptr, 2, 0)}, Action::peek);
  EXPECT_TRUE(store_->begin(look));
  EXPECT_EQ(look.outcomes[0].remaining, 1'000);
}

TEST_F(RegionalStoreTest, AHomeThatDoesNotAnswerFailsItsOwnRuleAlone) {
  home_->at_once = false;
  CountingCall both = call({charge(window_, nullptr, 2), charge(window_, &central_, 1)});
  EXPECT_FALSE(store_->begin(both));
  home_->failure = Code::unavailable;
  home_->answer();
  EXPECT_EQ(both.completions, 1);
  EXPECT_EQ(both.status, Code::ok);
  EXPECT_EQ(both.outcomes[0].status, Code::ok);
  EXPECT_EQ(both.outcomes[1].status, Code::unavailable);
}

TEST_F(RegionalStoreTest, ACallWhoseRulesAreAllAtTheHomeFailsWithIt) {
  home_->at_once = false;
  CountingCall one = call({charge(window_, &central_)});
  EXPECT_FALSE(store_->begin(one));
  home_->failure = Code::unavailable;
  home_->answer();
  EXPECT_EQ(one.status, Code::unavailable);
}

TEST_F(RegionalStoreTest, AnUnknownHomeIsOneThatDoesNotAnswer) {
  central_.home = "ap";
  CountingCall one = call({charge(window_, &central_)});
  EXPECT_TRUE(store_->begin(one));
  EXPECT_EQ(one.status, Code::unavailable);
}

TEST_F(RegionalStoreTest, CallsWithoutSharedLimitsAreTheStoresOwn) {
  CountingCall one = call({charge(window_, nullptr)});
  EXPECT_TRUE(store_->begin(one));
  EXPECT_FALSE(one.regional);
  EXPECT_EQ(own_->calls, 1);
}

TEST(RegionBook, KeepsNoMoreKeysThanItMay) {
  BookOptions options;
  options.map = {{"eu", "us"}, 0};
  options.max_keys = 64;
  RegionBook book(std::move(options));
  const Allowance allowance = allowance_of(Algorithm::token_bucket, 1'000, seconds(10));
  const RegionTerms terms{.sharing = RegionSharing::slices};
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    Charge charge;
    charge.key = {i, i};
    charge.allowance = &allowance;
    charge.rule = "rule";
    charge.region = &terms;
    EXPECT_EQ(book.share_of(charge, from_micros(1'000'000)).share, 150'000);
    book.note_share(charge, false, from_micros(1'000'000));
  }
  EXPECT_EQ(book.due_shares(from_micros(30'000'000), 1'000).size(), 0U) << "not in use any more";
  EXPECT_LE(book.figures(from_micros(1'000'000)).at(0).keys, 64U);
}

}  // namespace
}  // namespace weir::regions
