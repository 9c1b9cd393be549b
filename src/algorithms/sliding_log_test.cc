// Sliding log and bucketed window.
#include <gtest/gtest.h>

#include <deque>

#include "tests/models/word_bucket.h"

namespace weir::algorithms {
namespace {

using namespace std::chrono_literals;
using models::WordBucket;

constexpr TimePoint kStart = TimePoint{Duration{1'800'000'000'000'000}};

Allowance log_of(std::int64_t limit, Duration window) {
  AllowanceSpec spec;
  spec.algorithm = Algorithm::sliding_log;
  spec.limit = limit;
  spec.window = window;
  return make_allowance(spec).value();
}

Allowance buckets_of(std::int64_t limit, Duration window, std::int64_t buckets) {
  AllowanceSpec spec;
  spec.algorithm = Algorithm::bucketed_window;
  spec.limit = limit;
  spec.window = window;
  spec.buckets = buckets;
  return make_allowance(spec).value();
}

TEST(SlidingLog, TellsWhenTheOldestEntryThatMustLeaveLeaves) {
  const Allowance allowance = log_of(5, 10s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, kStart, 2).admitted);
  ASSERT_TRUE(bucket.take(allowance, kStart + 3s, 1).admitted);
  ASSERT_TRUE(bucket.take(allowance, kStart + 4s, 2).admitted);
  const TimePoint now = kStart + 5s;
  EXPECT_EQ(bucket.peek(allowance, now, 1).retry_after, 5s);
  EXPECT_EQ(bucket.peek(allowance, now, 2).retry_after, 5s);
  EXPECT_EQ(bucket.peek(allowance, now, 3).retry_after, 8s);
  EXPECT_EQ(bucket.peek(allowance, now, 4).retry_after, 9s);
  EXPECT_EQ(bucket.peek(allowance, now, 0).reset_after, 9s);
}

TEST(SlidingLog, PutsUnitsOfOneMicrosecondInOneEntry) {
  const Allowance allowance = log_of(1'000, 10s);
  WordBucket bucket;
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(bucket.take(allowance, kStart, 1).admitted);
  EXPECT_FALSE(bucket.take(allowance, kStart, 1).admitted);
  EXPECT_LE(bucket.tail.size(), 20U);
}

// A full log that slides for long: exactly the limit in any window, and no more memory than the bound.
TEST(SlidingLog, StaysExactAndBoundedWhileItSlides) {
  constexpr std::int64_t kLimit = 100;
  const Allowance allowance = log_of(kLimit, 1s);
  WordBucket bucket;
  std::deque<TimePoint> taken;
  TimePoint now = kStart;
  for (int i = 0; i < 50'000; ++i) {
    now += Duration{7'001 - i % 3};
    while (!taken.empty() && taken.front() + 1s <= now) taken.pop_front();
    const bool admitted = bucket.take(allowance, now, 1).admitted;
    ASSERT_EQ(admitted, static_cast<std::int64_t>(taken.size()) < kLimit);
    if (admitted) taken.push_back(now);
  }
  EXPECT_LE(bucket.tail.size(), static_cast<std::size_t>(2 * (kLimit + kLimit / 4 + 1)));
}

TEST(SlidingLog, ADenialThatCountsTakesWhatIsLeftAndDisplacesNothing) {
  const Allowance allowance = log_of(3, 10s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, kStart, 2).admitted);
  ASSERT_FALSE(bucket.peek(allowance, kStart + 4s, 2).admitted);
  bucket.count_denied(allowance, kStart + 4s, 2);
  // Two units leave at 10 s, the one that was left at 14 s.
  EXPECT_EQ(bucket.peek(allowance, kStart + 4s, 0).remaining, 0);
  EXPECT_EQ(bucket.peek(allowance, kStart + 4s, 2).retry_after, 6s);
  EXPECT_EQ(bucket.peek(allowance, kStart + 4s, 3).retry_after, 10s);
  // A full log stays as it is: attempts do not put off the moment at which its entries leave.
  bucket.count_denied(allowance, kStart + 9s, 3);
  EXPECT_EQ(bucket.peek(allowance, kStart + 9s, 2).retry_after, 1s);
  EXPECT_EQ(bucket.peek(allowance, kStart + 9s, 3).retry_after, 5s);
}

TEST(SlidingLog, KeepsWhatWasUsedWhenLimitsChange) {
  const Allowance ten = log_of(10, 10s);
  const Allowance four = log_of(4, 10s);
  WordBucket bucket;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(bucket.take(ten, kStart + i * 1s, 1).admitted);
  EXPECT_EQ(bucket.peek(four, kStart + 8s, 0).remaining, 0);
  EXPECT_EQ(bucket.peek(four, kStart + 8s, 1).retry_after, 6s);  // when the fifth of the eight has left
  EXPECT_EQ(bucket.peek(log_of(20, 10s), kStart + 8s, 0).remaining, 12);
}

// A damaged head that claims more entries than the tail has must not find them in the words a growing tail brings.
TEST(SlidingLog, SurvivesAHeadThatClaimsTooManyEntries) {
  const Allowance allowance = log_of(100, 10s);
  WordBucket bucket;
  bucket.head = {20, 2, micros(kStart)};
  bucket.tail = {micros(kStart), 1, micros(kStart), 1};
  EXPECT_EQ(bucket.take(allowance, kStart + 1s, 1).remaining, 97);
  EXPECT_EQ(bucket.take(allowance, kStart + 2s, 1).remaining, 96);
}

// In a damaged log times may be out of order; a denial still says how long to wait.
TEST(SlidingLog, TellsAWaitEvenWhenEntriesAreOutOfOrder) {
  const Allowance allowance = log_of(5, 10s);
  WordBucket bucket;
  bucket.head = {2, 5, micros(kStart)};
  bucket.tail = {micros(kStart), 1, 0, 4};
  const ChargeOutcome denied = bucket.peek(allowance, kStart + 1s, 4);
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.retry_after, 9s);
  EXPECT_TRUE(bucket.peek(allowance, kStart + 10s, 4).admitted);
}

TEST(BucketedWindow, LetsGoOneSubBucketAfterTheOther) {
  const Allowance allowance = buckets_of(10, 10s, 10);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, kStart + 500ms, 4).admitted);
  ASSERT_TRUE(bucket.take(allowance, kStart + 3s, 6).admitted);
  const TimePoint now = kStart + 3s;
  EXPECT_EQ(bucket.peek(allowance, now, 4).retry_after, 7s);
  EXPECT_EQ(bucket.peek(allowance, now, 5).retry_after, 10s);
  EXPECT_EQ(bucket.peek(allowance, kStart + 10s, 0).remaining, 4);
  EXPECT_EQ(bucket.peek(allowance, kStart + 13s, 0).remaining, 10);
  EXPECT_EQ(bucket.tail.size(), 10U);
}

TEST(BucketedWindow, KeepsWhatWasUsedWhenItsLayoutChanges) {
  const Allowance ten = buckets_of(10, 10s, 10);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(ten, kStart, 3).admitted);
  ASSERT_TRUE(bucket.take(ten, kStart + 5s, 4).admitted);
  const TimePoint now = kStart + 6s;
  for (const Allowance& changed : {buckets_of(10, 10s, 5), buckets_of(10, 20s, 20), buckets_of(10, 6s, 6)}) {
    WordBucket copy = bucket;
    EXPECT_EQ(copy.peek(changed, now, 0).remaining, 3);
    EXPECT_EQ(copy.take(changed, now, 1).remaining, 2);  // writes the new layout
    EXPECT_EQ(copy.peek(changed, now, 0).remaining, 2);
    // All of it counts in the sub-bucket of 5 s, the last charge under the old layout.
    EXPECT_EQ(copy.peek(changed, kStart + 4s + changed.window - 1us, 0).remaining, 2);
    EXPECT_EQ(copy.peek(changed, kStart + 8s + changed.window, 0).remaining, 10);
  }
}

TEST(BucketedWindow, GivesBackEvenBeforeTheNewLayoutIsWritten) {
  const Allowance ten = buckets_of(10, 10s, 10);
  const Allowance twenty = buckets_of(10, 10s, 20);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(ten, kStart, 3).admitted);
  ASSERT_TRUE(bucket.take(ten, kStart + 5s, 4).admitted);
  bucket.refund(twenty, kStart + 5s, 2);
  EXPECT_EQ(bucket.peek(twenty, kStart + 5s, 0).remaining, 5);
  bucket.refund(twenty, kStart + 5s, 100);
  EXPECT_EQ(bucket.peek(twenty, kStart + 5s, 0).remaining, 10);
}

}  // namespace
}  // namespace weir::algorithms
