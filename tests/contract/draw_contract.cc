// Draws (weir/draw_step.h): what every store must do alike.
#include <algorithm>

#include "tests/contract/draw_contract.h"

namespace weir::contract {
namespace {

bool refills(Algorithm algorithm) { return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra; }
bool can_be_drawn(Algorithm algorithm) {
  return algorithm != Algorithm::sliding_log && algorithm != Algorithm::leaky_bucket;
}

}  // namespace

TEST_P(DrawContract, GrantsWhatIsWantedAndTakesIt) {
  DrawStep step{.want = 4};
  const ChargeOutcome outcome = draw(charge(1, 2), step);
  EXPECT_TRUE(outcome.admitted);
  EXPECT_EQ(step.granted, can_be_drawn(algorithm()) ? 4 : 2);
  EXPECT_EQ(outcome.remaining, kLimit - step.granted);
  EXPECT_EQ(left(charge(1)), kLimit - step.granted);
  EXPECT_EQ(step.at, now_);
}

TEST_P(DrawContract, TellsWhetherThereWasABucket) {
  DrawStep step{.want = 1};
  draw(charge(1), step);
  EXPECT_FALSE(step.existed);
  step = {.want = 1};
  draw(charge(1), step);
  EXPECT_TRUE(step.existed);
}

TEST_P(DrawContract, GrantsOnlyAPartOfWhatIsLeftButAlwaysTheCost) {
  if (!can_be_drawn(algorithm())) return;
  DrawStep step{.want = 100, .parts = 4};
  draw(charge(1), step);
  EXPECT_EQ(step.granted, 2);  // of 10
  step = {.want = 100, .parts = 4};
  draw(charge(1, 5), step);
  EXPECT_EQ(step.granted, 5);
  step = {.want = 100, .parts = 1};
  draw(charge(1, 1), step);
  EXPECT_EQ(step.granted, 3);
  EXPECT_EQ(left(charge(1)), 0);
}

TEST_P(DrawContract, ABucketThatRefillsOwesTheFloorBeforeAnythingIsDrawn) {
  if (!refills(algorithm())) return;
  DrawStep step{.want = 100, .floor = 3};
  const ChargeOutcome outcome = draw(charge(1), step);
  EXPECT_EQ(step.granted, kLimit - 3);
  EXPECT_EQ(outcome.remaining, 0);
  EXPECT_EQ(step.lasts, Duration{0});
  now_ += seconds(5);  // 5 units
  step = {.want = 100, .floor = 3};
  draw(charge(1), step);
  EXPECT_EQ(step.granted, 5) << "the bucket owes more than the floor already";
}

TEST_P(DrawContract, ACostThatTheFloorLeavesNoRoomForIsNeverGranted) {
  if (!refills(algorithm())) return;
  DrawStep step{.want = 100, .floor = 3};
  const ChargeOutcome outcome = draw(charge(1, 8), step);
  EXPECT_FALSE(outcome.admitted);
  EXPECT_TRUE(outcome.too_large);
  EXPECT_EQ(outcome.retry_after, Duration{0});
  EXPECT_EQ(step.granted, 0);
  EXPECT_EQ(left(charge(1)), kLimit);
}

TEST_P(DrawContract, WhatAWindowGrantsLastsUntilItsEnd) {
  if (refills(algorithm()) || !can_be_drawn(algorithm())) return;
  now_ += milliseconds(10'250);
  DrawStep step{.want = 4};
  draw(charge(1), step);
  const Duration width = algorithm() == Algorithm::bucketed_window ? kWindow / 10 : kWindow;
  EXPECT_EQ(step.lasts, width - milliseconds(250));
}

TEST_P(DrawContract, IsDeniedLikeATakeOfItsCost) {
  if (algorithm() == Algorithm::leaky_bucket) return;  // whose last request may be larger than what is left
  static_cast<void>(take(charge(1, 9)));
  now_ += milliseconds(100);
  const ChargeOutcome denied = take(charge(1, 3));
  DrawStep step{.want = 100, .parts = 2, .floor = refills(algorithm()) ? 1 : 0};
  EXPECT_EQ(draw(charge(1, 3), step), denied);
  EXPECT_EQ(step.granted, 0);
}

TEST_P(DrawContract, LateUnitsAreChargedWhetherTheyFitOrNot) {
  const bool counted = refills(algorithm()) || algorithm() == Algorithm::fixed_window;
  static_cast<void>(take(charge(1, 8)));
  DrawStep step{.late = 5, .late_at = now_};
  const ChargeOutcome outcome = draw(charge(1, 0), step);
  EXPECT_TRUE(outcome.admitted);
  EXPECT_EQ(outcome.remaining, counted ? 0 : 2);
  if (!refills(algorithm())) return;
  now_ += seconds(4);  // 4 of the 13 units that are owed
  EXPECT_EQ(left(charge(1)), 1) << "what did not fit is owed";
}

TEST_P(DrawContract, LateUnitsAreChargedBeforeTheCostIsLookedAt) {
  if (!refills(algorithm()) && algorithm() != Algorithm::fixed_window) return;
  DrawStep step{.want = 5, .late = 8, .late_at = now_};
  EXPECT_FALSE(draw(charge(1, 3), step).admitted);
  EXPECT_EQ(left(charge(1)), 2);
}

TEST_P(DrawContract, LateUnitsNeverCountInTheNextWindow) {
  if (algorithm() != Algorithm::fixed_window) return;
  static_cast<void>(take(charge(1)));
  const TimePoint then = now_;
  now_ += kWindow;
  DrawStep step{.late = 5, .late_at = then};
  EXPECT_EQ(draw(charge(1, 0), step).remaining, kLimit);
  EXPECT_EQ(left(charge(1)), kLimit);
}

TEST_P(DrawContract, TellsTheBucketsTimeNotAnEarlierOneOfTheCaller) {
  static_cast<void>(take(charge(1)));
  const TimePoint last = now_;
  now_ -= milliseconds(500);
  DrawStep step;
  draw(charge(1, 0), step);
  EXPECT_EQ(step.at, last);
}

}  // namespace weir::contract
