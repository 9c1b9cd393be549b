// The published cases of Bucket4j. A bandwidth with a greedy refill there is a token bucket here, one that is refilled
// by intervals a fixed window; a bucket with several bandwidths is a request that several rules apply to. Buckets that
// do not begin full are made so by a first request. Its nanoseconds are milliseconds here.
#include <gtest/gtest.h>

#include <limits>

#include "tests/peers/peer_bucket.h"

namespace weir::peers {
namespace {

// A bandwidth, and how much of it there is at the beginning.
struct Bandwidth {
  AllowanceSpec spec;
  std::int64_t initial;
};

Bandwidth simple(std::int64_t capacity, Duration period, std::int64_t initial) {
  return {tokens(capacity, period), initial};
}
Bandwidth classic(std::int64_t capacity, std::int64_t refill, Duration period, std::int64_t initial) {
  return {tokens(refill, period, capacity), initial};
}
Bandwidth by_interval(std::int64_t capacity, Duration period, std::int64_t initial) {
  return {limit_of(Algorithm::fixed_window, capacity, period), initial};
}

PeerBucket bucket_of(const std::vector<Bandwidth>& bandwidths) {
  std::vector<AllowanceSpec> specs;
  for (const Bandwidth& each : bandwidths) specs.push_back(each.spec);
  PeerBucket bucket(specs);
  for (std::size_t i = 0; i < bandwidths.size(); ++i) {
    bucket.spend(i, bandwidths[i].spec.burst.value_or(bandwidths[i].spec.limit) - bandwidths[i].initial);
  }
  return bucket;
}

struct Probe {
  Bandwidth bandwidth;
  std::int64_t cost;
  bool allowed;
  std::int64_t remaining;  // after a take; a look leaves what was there
  Duration wait;           // zero for a cost that never fits: Bucket4j says the largest number
};

TEST(PeerBucket4j, TellsWhatIsLeftAndHowLongToWait) {
  for (const Probe& probe :
       {Probe{simple(100, 100ms, 100), 49, true, 51, 0ms}, Probe{simple(100, 100ms, 1), 1, true, 0, 0ms},
        Probe{simple(100, 100ms, 70), 80, false, 70, 10ms}, Probe{simple(100, 100ms, 0), 10, false, 0, 10ms},
        Probe{simple(100, 100ms, 10), 120, false, 10, 0ms}, Probe{by_interval(100, 100ms, 70), 80, false, 70, 100ms},
        Probe{by_interval(100, 100ms, 0), 10, false, 0, 100ms}, Probe{by_interval(100, 100ms, 10), 120, false, 10, 0ms},
        Probe{simple(10, 100min, 0), 1, false, 0, 10min}, Probe{simple(10, 100min, 1), 1, true, 0, 0ms}}) {
    PeerBucket bucket = bucket_of({probe.bandwidth});
    const Answer looked = bucket.peek(probe.cost);
    EXPECT_EQ(looked.allowed, probe.allowed);
    EXPECT_EQ(looked.retry_after, probe.wait);
    EXPECT_EQ(bucket.remaining(), probe.bandwidth.initial);
    const Answer taken = bucket.take(probe.cost);
    EXPECT_EQ(taken.allowed, probe.allowed);
    EXPECT_EQ(taken.remaining, probe.remaining);
    EXPECT_EQ(taken.retry_after, probe.wait);
    EXPECT_EQ(taken.never_fits, probe.cost == 120);
  }
}

TEST(PeerBucket4j, OfSeveralLimitsTheLeastIsAvailable) {
  EXPECT_EQ(bucket_of({simple(10, 100ms, 10)}).remaining(), 10);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 0)}).remaining(), 0);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 5)}).remaining(), 5);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 5), simple(2, 100ms, 2)}).remaining(), 2);
  EXPECT_EQ(bucket_of({classic(10, 1, 1s, 10)}).remaining(), 10);
}

TEST(PeerBucket4j, TokensAreAddedUpToTheCapacity) {
  EXPECT_EQ(bucket_of({simple(10, 100ms, 0)}).refund(10), 10);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 10)}).refund(1), 10);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 5)}).refund(6), 10);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 5), simple(2, 100ms, 2)}).refund(3), 2);
  EXPECT_EQ(bucket_of({classic(10, 1, 1s, 1)}).refund(4), 5);
}

TEST(PeerBucket4j, TokensAreAddedToWhatTimeHasRefilled) {
  struct Case {
    std::int64_t added;
    Duration later;
    std::int64_t available;
  };
  for (const Case& each :
       {Case{49, 50ms, 99}, Case{50, 50ms, 100}, Case{50, 0ms, 50}, Case{120, 0ms, 100}, Case{120, 110ms, 100}}) {
    PeerBucket bucket = bucket_of({simple(100, 100ms, 0)});
    bucket.at(each.later);
    EXPECT_EQ(bucket.refund(each.added), each.available);
    EXPECT_EQ(bucket.remaining(), each.available);
  }
}

TEST(PeerBucket4j, TheLongestWaitOfSeveralLimitsCounts) {
  const Bandwidth slow = simple(10, 100ms, 1);
  const Bandwidth fast = simple(5, 10ms, 2);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 0)}).take(10).retry_after, 100ms);
  EXPECT_EQ(bucket_of({classic(10, 10, 100ms, 0)}).take(10).retry_after, 100ms);
  EXPECT_EQ(bucket_of({classic(10, 2, 100ms, 0)}).take(10).retry_after, 500ms);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 4)}).take(7).retry_after, 30ms);
  EXPECT_EQ(bucket_of({slow, fast}).take(3).retry_after, 20ms);
  EXPECT_EQ(bucket_of({fast, slow}).take(3).retry_after, 20ms);
  EXPECT_TRUE(bucket_of({simple(5, 10ms, 5), simple(10, 100ms, 3)}).take(3).allowed);
  // Inside, Bucket4j says 70 for eleven of ten; its callers, like ours, learn that this never fits.
  EXPECT_TRUE(bucket_of({simple(10, 100ms, 4)}).take(11).never_fits);
}

TEST(PeerBucket4j, TellsTheTimeUntilEveryLimitIsFull) {
  const Bandwidth slow = simple(10, 100ms, 1);
  const Bandwidth fast = simple(5, 10ms, 2);
  EXPECT_EQ(bucket_of({slow}).peek(0).reset_after, 90ms);
  EXPECT_EQ(bucket_of({by_interval(10, 100ms, 1)}).peek(0).reset_after, 100ms);
  EXPECT_EQ(bucket_of({simple(10, 100ms, 4)}).peek(0).reset_after, 60ms);
  EXPECT_EQ(bucket_of({slow, fast}).peek(0).reset_after, 90ms);
  EXPECT_EQ(bucket_of({fast, slow}).peek(0).reset_after, 90ms);
  EXPECT_EQ(bucket_of({simple(5, 10ms, 5), simple(10, 100ms, 3)}).peek(0).reset_after, 70ms);
}

// The published rounding error is the part of the next token that has been refilled; here it shortens the next wait.
TEST(PeerBucket4j, RefillsByTheTimeThatPassedAndKeepsFractions) {
  struct Case {
    Bandwidth bandwidth;
    Duration later;
    std::int64_t available;
    Duration next_token;  // zero: not published, or full
  };
  for (const Case& each :
       {Case{simple(1000, 1000ms, 0), 40ms, 40, 1ms}, Case{simple(1000, 1000ms, 50), 1ms, 51, 1ms},
        Case{simple(1000, 1000ms, 55), -1ms, 55, 0ms}, Case{simple(1000, 1000ms, 200), 10s, 1000, 0ms},
        Case{simple(100, 1000ms, 0), 3ms, 0, 7ms}, Case{simple(100, 1000ms, 90), 17ms, 91, 3ms},
        Case{simple(100, 1000ms, 0), 18'888ms, 100, 0ms}, Case{classic(1000, 1, 1ms, 0), 40ms, 40, 1ms},
        Case{classic(1000, 10, 10ms, 50), 1ms, 51, 1ms}, Case{classic(1000, 1, 1ms, 55), 0ms, 55, 1ms},
        Case{classic(1000, 10, 10ms, 200), 10s, 1000, 0ms}, Case{classic(100, 1, 10ms, 0), 3ms, 0, 7ms},
        Case{classic(100, 1, 10ms, 90), 17ms, 91, 3ms}, Case{classic(100, 1, 10ms, 0), 18'888ms, 100, 0ms}}) {
    PeerBucket bucket = bucket_of({each.bandwidth});
    bucket.at(each.later);
    EXPECT_EQ(bucket.remaining(), each.available);
    if (each.next_token > 0ms) {
      EXPECT_EQ(bucket.peek(each.available + 1).retry_after, each.next_token);
    }
  }
}

TEST(PeerBucket4j, TheRestOfADivisionIsNotLost) {
  PeerBucket bucket = bucket_of({simple(10, 100ms, 0)});
  expect_verdicts(bucket, {{97ms, 9, true}, {97ms, 1, false}, {100ms, 1, true}, {100ms, 1, false}});
}

TEST(PeerBucket4j, TheRestOfADivisionDoesNotExceedTheCapacity) {
  PeerBucket bucket = bucket_of({simple(10, 100ms, 0)});
  expect_verdicts(bucket, {{97ms, 9, true}, {97ms, 1, false}});
  EXPECT_EQ(bucket.refund(10), 10);
  expect_verdicts(bucket, {{97ms, 10, true}, {100ms, 1, false}});
}

TEST(PeerBucket4j, APartOfATokenShortensTheWait) {
  PeerBucket bucket = bucket_of({classic(4, 1, 1s, 1)});
  EXPECT_TRUE(bucket.take(1).allowed);
  bucket.at(200ms);
  EXPECT_EQ(bucket.peek(1).retry_after, 800ms);
  EXPECT_EQ(bucket.take(1).retry_after, 800ms);
  EXPECT_EQ(bucket.peek(3).retry_after, 2800ms);
  EXPECT_EQ(bucket.take(3).retry_after, 2800ms);
}

TEST(PeerBucket4j, AnIntervalRefillsEverythingAtItsEnd) {
  PeerBucket bucket = bucket_of({by_interval(9, 10ms, 0)});
  for (const auto& [now, available] : {std::pair<Duration, std::int64_t>{0ms, 0}, {4ms, 0}, {10ms, 9}, {11ms, 9}}) {
    bucket.at(now);
    EXPECT_EQ(bucket.remaining(), available);
  }
}

TEST(PeerBucket4j, AnIntervalTellsTheTimeUntilItsEnd) {
  PeerBucket bucket = bucket_of({by_interval(10, 1min, 0)});
  EXPECT_EQ(bucket.take(1).retry_after, 60s);
  EXPECT_EQ(bucket.take(10).retry_after, 60s);
  bucket.at(15s);
  EXPECT_EQ(bucket.take(1).retry_after, 45s);
  EXPECT_TRUE(bucket.take(15).never_fits);
}

TEST(PeerBucket4j, ThreeLimitsHoldAfterTwelveIdleHours) {
  PeerBucket bucket(std::vector{tokens(700'000, 1h), tokens(14'500, 1min), tokens(300, 1s)});
  expect_verdicts(bucket, {{12h, 1, true}, {12h, 299, true}, {12h, 1, false}});
}

TEST(PeerBucket4j, AddingTheLargestNumberOnlyFills) {
  PeerBucket bucket = bucket_of({simple(10, 1s, 9)});
  EXPECT_EQ(bucket.refund(kMaxUnits), 10);
  expect_verdicts(bucket, {{0s, 10, true}, {0s, 1, false}});
}

// Where Bucket4j falls back to floating point, a limit above 10^12 cannot be loaded; the largest is exact.
TEST(PeerBucket4j, NumbersThatCouldOverflowCannotBeLoaded) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(load_error(tokens(kMost / 16, kMaxWindow)).starts_with("limit:"));
  EXPECT_TRUE(load_error(tokens(1, 1ms, kMost - 10)).starts_with("burst:"));
  EXPECT_TRUE(load_error(tokens(1, Duration{kMost / 2})).starts_with("window:"));
  PeerBucket bucket = bucket_of({simple(kMaxUnits, 1h, 7)});
  bucket.at(3h);
  EXPECT_TRUE(bucket.take(kMaxUnits).allowed);
  EXPECT_FALSE(bucket.take(1).allowed);
}

TEST(PeerBucket4j, AResetFillsTheBucket) {
  PeerBucket bucket = bucket_of({simple(100, 100ms, 10)});
  bucket.reset();
  EXPECT_EQ(bucket.remaining(), 100);
}

TEST(PeerBucket4j, NineOfTenAreConsumedAndSixMoreAreRejected) {
  PeerBucket bucket = bucket_of({simple(10, 1s, 10)});
  EXPECT_TRUE(bucket.take(9).allowed);
  EXPECT_EQ(bucket.take(6), denied(1, 500ms, 900ms));
}

TEST(PeerBucket4j, ASmallerCapacityAppliesAtOnce) {
  PeerBucket bucket = bucket_of({classic(500, 100, 100ms, 500)});
  EXPECT_EQ(bucket.remaining(), 500);
  bucket.change(tokens(100, 100ms, 200));
  EXPECT_EQ(bucket.remaining(), 200);
}

// Bucket4j carries over what is available (10 and 1 there). Here what was used stays owed: smaller numbers never
// forget it, so that going back and forth between numbers admits nothing twice.
TEST(PeerBucket4j, SmallerNumbersDoNotForgetWhatWasUsed) {
  PeerBucket bucket = bucket_of({simple(100, 100ms, 0)});
  bucket.at(10ms);
  EXPECT_EQ(bucket.remaining(), 10);
  bucket.change(tokens(10, 100ms));
  // 90 of 99 units would have to be repaid, but at 100 ms the numbers that charged the bucket have repaid all.
  EXPECT_EQ(bucket.take(1), denied(0, 90ms, 90ms));
  bucket.change(tokens(100, 100ms));
  EXPECT_EQ(bucket.remaining(), 10);
}

}  // namespace
}  // namespace weir::peers
