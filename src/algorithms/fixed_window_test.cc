// Fixed window and sliding counter.
#include <gtest/gtest.h>

#include "tests/models/word_bucket.h"

namespace weir::algorithms {
namespace {

using namespace std::chrono_literals;
using models::WordBucket;

constexpr TimePoint kStart = TimePoint{Duration{1'800'000'000'000'000}};  // a whole number of minutes

Allowance allowance_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  AllowanceSpec spec;
  spec.algorithm = algorithm;
  spec.limit = limit;
  spec.window = window;
  return make_allowance(spec).value();
}

TEST(FixedWindow, AdmitsItsLimitInEachAlignedWindow) {
  const Allowance allowance = allowance_of(Algorithm::fixed_window, 3, 60s);
  WordBucket bucket;
  const TimePoint late = kStart + 50s;
  EXPECT_EQ(bucket.take(allowance, late, 1).remaining, 2);
  EXPECT_EQ(bucket.take(allowance, late, 2).remaining, 0);
  const ChargeOutcome denied = bucket.take(allowance, late, 1);
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.retry_after, 10s);
  EXPECT_EQ(denied.reset_after, 10s);
  EXPECT_EQ(bucket.take(allowance, kStart + 60s, 3).remaining, 0);
}

TEST(FixedWindow, GivesBackOnlyToTheCurrentWindow) {
  const Allowance allowance = allowance_of(Algorithm::fixed_window, 3, 60s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, kStart, 3).admitted);
  bucket.refund(allowance, kStart + 1s, 1);
  EXPECT_EQ(bucket.peek(allowance, kStart + 1s, 0).remaining, 1);
  bucket.refund(allowance, kStart + 61s, 2);
  EXPECT_EQ(bucket.peek(allowance, kStart + 61s, 0).remaining, 3);
  EXPECT_EQ(bucket.take(allowance, kStart + 61s, 1).remaining, 2);
}

TEST(FixedWindow, StaysInItsWindowWhenTheClockRunsBackward) {
  const Allowance allowance = allowance_of(Algorithm::fixed_window, 1, 60s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, kStart + 60s, 1).admitted);
  const ChargeOutcome earlier = bucket.take(allowance, kStart + 59s, 1);
  EXPECT_FALSE(earlier.admitted);
  EXPECT_EQ(earlier.retry_after, 61s);
}

// Windows that begin at an anchor are those that begin at the epoch, seen that much later.
TEST(FixedWindow, CountsFromItsAnchor) {
  const Allowance aligned = allowance_of(Algorithm::fixed_window, 3, 60s);
  for (const Duration anchor : {Duration(0), Duration(1us), Duration(25s), Duration(60s - 1us)}) {
    Allowance anchored = aligned;
    anchored.anchor = anchor;
    WordBucket here;
    WordBucket there;
    for (const Duration time : {0s, 1s, 34s, 35s, 59s, 60s, 61s, 94s, 95s, 96s, 300s}) {
      for (const TimePoint from : {kStart, TimePoint{}}) {
        const TimePoint now = from + time;
        EXPECT_EQ(here.take(anchored, now + anchor, 2), there.take(aligned, now, 2));
        EXPECT_EQ(here.take(anchored, now + anchor, 1), there.take(aligned, now, 1));
        here.refund(anchored, now + anchor, 1);
        there.refund(aligned, now, 1);
        EXPECT_EQ(here.peek(anchored, now + anchor, 0), there.peek(aligned, now, 0));
        EXPECT_EQ(here.idle_from(anchored), there.idle_from(aligned) + anchor);
      }
    }
    // Before the first anchor of all.
    WordBucket early;
    EXPECT_EQ(early.take(anchored, TimePoint{}, 3).reset_after, anchor == 0s ? 60s : anchor);
  }
}

TEST(FixedWindow, KeepsWhatWasUsedWhenLimitsChange) {
  const Allowance ten = allowance_of(Algorithm::fixed_window, 10, 60s);
  const Allowance five = allowance_of(Algorithm::fixed_window, 5, 60s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(ten, kStart, 8).admitted);
  EXPECT_FALSE(bucket.take(five, kStart, 1).admitted);
  EXPECT_EQ(bucket.peek(five, kStart, 0).remaining, 0);
  bucket.count_denied(five, kStart, 1);
  EXPECT_EQ(bucket.peek(ten, kStart, 0).remaining, 2);
}

TEST(SlidingCounter, WeighsThePreviousWindowByWhatIsStillCovered) {
  const Allowance allowance = allowance_of(Algorithm::sliding_counter, 100, 60s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, kStart, 100).admitted);
  EXPECT_EQ(bucket.peek(allowance, kStart + 60s, 0).remaining, 0);
  EXPECT_EQ(bucket.peek(allowance, kStart + 75s, 0).remaining, 25);
  EXPECT_EQ(bucket.take(allowance, kStart + 75s, 20).remaining, 5);
  EXPECT_EQ(bucket.peek(allowance, kStart + 90s, 0).remaining, 30);
  EXPECT_EQ(bucket.peek(allowance, kStart + 120s, 0).remaining, 80);
}

TEST(SlidingCounter, FindsTheEarliestRetryInThisWindowTheNextOrAfter) {
  const Allowance allowance = allowance_of(Algorithm::sliding_counter, 100, 60s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, kStart, 100).admitted);
  // At the start of the next window all 100 still weigh fully; one unit melts in 0.6 s.
  EXPECT_EQ(bucket.peek(allowance, kStart, 1).retry_after, 60s + 600ms);
  EXPECT_EQ(bucket.peek(allowance, kStart + 60s, 1).retry_after, 600ms);
  // The whole limit fits only when nothing of it is left.
  EXPECT_EQ(bucket.peek(allowance, kStart + 60s, 100).retry_after, 60s);
  // With something in this window too, the whole limit must wait through the next.
  ASSERT_TRUE(bucket.take(allowance, kStart + 90s, 1).admitted);
  EXPECT_EQ(bucket.peek(allowance, kStart + 90s, 100).retry_after, 90s);
}

TEST(SlidingCounter, HoldsUnderTheLargestNumbers) {
  const Allowance allowance = allowance_of(Algorithm::sliding_counter, kMaxUnits, kMaxWindow);
  const TimePoint start = TimePoint{5 * kMaxWindow};
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, start, kMaxUnits).admitted);
  EXPECT_EQ(bucket.peek(allowance, start + kMaxWindow + kMaxWindow / 4, 0).remaining, kMaxUnits / 4);
  EXPECT_EQ(bucket.peek(allowance, start, kMaxUnits).retry_after, 2 * kMaxWindow);
}

}  // namespace
}  // namespace weir::algorithms
