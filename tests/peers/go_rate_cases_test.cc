// The published cases of Go's x/time/rate. A limiter of rate r and burst b there is a token bucket here. A reservation
// for later is read as the wait that a denial names: who comes then is admitted.
#include <gtest/gtest.h>

#include "tests/peers/peer_bucket.h"

namespace weir::peers {
namespace {

constexpr Duration kTick = 100ms;  // one token at ten per second

AllowanceSpec per_second(std::int64_t rate, std::int64_t burst) { return tokens(rate, 1s, burst); }

TEST(PeerGoRate, ABurstOfOneAdmitsOnePerTick) {
  PeerBucket bucket(per_second(10, 1));
  expect_verdicts(bucket, {{0 * kTick, 1, true},
                           {0 * kTick, 1, false},
                           {0 * kTick, 1, false},
                           {1 * kTick, 1, true},
                           {1 * kTick, 1, false},
                           {1 * kTick, 1, false},
                           {2 * kTick, 2, false},
                           {2 * kTick, 1, true},
                           {2 * kTick, 1, false}});
}

TEST(PeerGoRate, ABurstOfThreeIsKeptWhileIdle) {
  PeerBucket bucket(per_second(10, 3));
  expect_verdicts(bucket, {{0 * kTick, 2, true},
                           {0 * kTick, 2, false},
                           {0 * kTick, 1, true},
                           {0 * kTick, 1, false},
                           {1 * kTick, 4, false},
                           {2 * kTick, 1, true},
                           {3 * kTick, 1, true},
                           {4 * kTick, 1, true},
                           {4 * kTick, 1, true},
                           {4 * kTick, 1, false},
                           {4 * kTick, 1, false},
                           {9 * kTick, 3, true},
                           {9 * kTick, 0, true}});
}

// Go refills the time between the two moments a second time and admits one at tick 1; here time that was already
// counted never refills, whatever the clock does.
TEST(PeerGoRate, AClockThatJumpsBackRefillsNothingTwice) {
  PeerBucket bucket(per_second(10, 3));
  expect_verdicts(bucket, {{1 * kTick, 1, true},
                           {0 * kTick, 1, true},
                           {0 * kTick, 1, true},
                           {0 * kTick, 1, false},
                           {0 * kTick, 1, false},
                           {1 * kTick, 1, false},  // admitted by Go
                           {1 * kTick, 1, false},
                           {2 * kTick, 1, true},
                           {2 * kTick, 1, false},
                           {2 * kTick, 1, false}});
}

TEST(PeerGoRate, ARateOfTenInThirteenSecondsBeginsWithOne) {
  PeerBucket bucket(tokens(10, 13s, 1));
  EXPECT_TRUE(bucket.take(1).allowed);
  EXPECT_EQ(bucket.take(1).retry_after, 1300ms);
}

TEST(PeerGoRate, OneEveryIntervalIsAdmittedExactlyThen) {
  struct Interval {
    std::int64_t limit;
    Duration window;
    Duration interval;
  };
  for (const Interval& each : {Interval{1'000, 1ms, 1us}, Interval{1, 1ms, 1ms}, Interval{100, 1s, 10ms},
                               Interval{10, 1s, 100ms}, Interval{1, 1s, 1s}, Interval{1, 2s, 2s},
                               Interval{2, 5s, 2500ms}, Interval{1, 4s, 4s}, Interval{1, 10s, 10s}}) {
    PeerBucket bucket(tokens(each.limit, each.window, 1));
    EXPECT_TRUE(bucket.take(1).allowed);
    EXPECT_EQ(bucket.take(1), denied(0, each.interval, each.interval));
    bucket.at(each.interval - 1us);
    EXPECT_FALSE(bucket.take(1).allowed);
    bucket.at(each.interval);
    EXPECT_TRUE(bucket.take(1).allowed);
  }
}

TEST(PeerGoRate, FifteenThreadsGetABurstOfFive) {
  PeerBucket bucket(per_second(1, 5));
  EXPECT_EQ(bucket.admitted_of(15), 5);
}

// Five seconds at 500 requests per second on a limit of 100: the burst and every token, none more.
TEST(PeerGoRate, ALongRunGetsTheWholeRate) {
  PeerBucket bucket(per_second(100, 100));
  int admitted = 0;
  for (Duration now = 0ms; now <= 5s; now += 2ms) {
    bucket.at(now);
    admitted += bucket.take(1).allowed ? 1 : 0;
  }
  EXPECT_EQ(admitted, 100 + 5 * 100);
}

TEST(PeerGoRate, TheTimeToActIsNowPlusTheWait) {
  PeerBucket bucket(per_second(10, 2));
  EXPECT_TRUE(bucket.take(2).allowed);
  EXPECT_EQ(bucket.take(2).retry_after, 2 * kTick);
  bucket.at(2 * kTick);
  EXPECT_TRUE(bucket.take(2).allowed);
  bucket.at(3 * kTick);
  EXPECT_EQ(bucket.take(2).retry_after, 1 * kTick);
}

TEST(PeerGoRate, TakesAndWaitsMix) {
  PeerBucket bucket(per_second(10, 2));
  EXPECT_EQ(bucket.take(3), never_fits(2, 0s));
  EXPECT_TRUE(bucket.take(2).allowed);
  bucket.at(1 * kTick);
  EXPECT_EQ(bucket.take(2), denied(1, 1 * kTick, 1 * kTick));
  bucket.at(2 * kTick);
  EXPECT_TRUE(bucket.take(2).allowed);
  EXPECT_FALSE(bucket.take(1).allowed);
  bucket.at(3 * kTick);
  EXPECT_TRUE(bucket.take(1).allowed);
}

TEST(PeerGoRate, WhatNeverFitsTakesNothingThatCouldBeGivenBack) {
  PeerBucket bucket(per_second(10, 2));
  EXPECT_TRUE(bucket.take(2).allowed);
  EXPECT_TRUE(bucket.take(3).never_fits);
  EXPECT_EQ(bucket.take(2).retry_after, 2 * kTick);
}

TEST(PeerGoRate, WhatIsGivenBackCanBeTakenAgain) {
  PeerBucket bucket(per_second(10, 2));
  EXPECT_TRUE(bucket.take(2).allowed);
  bucket.at(2 * kTick);
  EXPECT_TRUE(bucket.take(2).allowed);
  EXPECT_EQ(bucket.refund(2), 2);
  EXPECT_TRUE(bucket.take(2).allowed);
  EXPECT_FALSE(bucket.take(1).allowed);
}

TEST(PeerGoRate, ACallerThatWaitsGetsThreeAfterTwoTicks) {
  PeerBucket bucket(per_second(10, 3));
  EXPECT_TRUE(bucket.take(4).never_fits);
  EXPECT_TRUE(bucket.take(2).allowed);
  EXPECT_EQ(bucket.take(3).retry_after, 2 * kTick);
  bucket.at(2 * kTick);
  EXPECT_TRUE(bucket.take(3).allowed);
}

// Go settles at the old rate when the limit is set and names one tick for the second token. Here the new rate counts
// from the bucket's last change, which is bounded: never more than the burst and the faster rate.
TEST(PeerGoRate, AFasterRateCountsFromTheLastRequest) {
  PeerBucket bucket(per_second(5, 2));
  EXPECT_TRUE(bucket.take(2).allowed);
  EXPECT_EQ(bucket.take(2).retry_after, 4 * kTick);
  bucket.at(2 * kTick);
  EXPECT_EQ(bucket.remaining(), 1);
  bucket.change(per_second(10, 2));
  EXPECT_TRUE(bucket.take(2).allowed);  // after one more tick in Go
  EXPECT_FALSE(bucket.take(1).allowed);
}

TEST(PeerGoRate, ALargerBurstAddsTheDifferenceAtOnce) {
  PeerBucket bucket(per_second(5, 2));
  EXPECT_TRUE(bucket.take(2).allowed);
  bucket.change(per_second(5, 4));
  EXPECT_EQ(bucket.remaining(), 2);  // in Go none: there a larger burst has to fill first
  EXPECT_EQ(bucket.take(4).retry_after, 4 * kTick);
}

// In Go a rate of zero admits the burst once and a rate without end admits everything. Here the first cannot be
// loaded, and the second is a rule that says `unlimited`.
TEST(PeerGoRate, ARateOfZeroNeverAdmitsAndOneWithoutEndIsUnlimited) {
  PeerBucket nothing(tokens(0, 1s));
  EXPECT_FALSE(nothing.take(1).allowed);
  EXPECT_TRUE(load_error(tokens(1, 0s, 1)).starts_with("window:"));
  Rule open;
  open.id = "open";
  open.unlimited = true;
  open.allowance = tokens(1, 1s);
  const std::unique_ptr<Limiter> limiter = Limiter::create({.rules = {open}}).value();
  EXPECT_TRUE(limiter->check(Request({{"subject", "a"}}, {3})).allowed);
}

}  // namespace
}  // namespace weir::peers
