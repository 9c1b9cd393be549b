// Leaky bucket: shaping with a bounded virtual queue.
#include <gtest/gtest.h>

#include "tests/models/reference_models.h"
#include "tests/models/word_bucket.h"

namespace weir::algorithms {
namespace {

using namespace std::chrono_literals;
using models::WordBucket;

constexpr TimePoint kStart = TimePoint{Duration{1'800'000'000'000'000}};

Allowance leaky(std::int64_t limit, Duration window, std::int64_t queue) {
  AllowanceSpec spec;
  spec.algorithm = Algorithm::leaky_bucket;
  spec.limit = limit;
  spec.window = window;
  spec.queue = queue;
  return make_allowance(spec).value();
}

TEST(LeakyBucket, SpacesRequestsAndRejectsWhenTheQueueIsFull) {
  const Allowance allowance = leaky(10, 1s, 2);
  WordBucket bucket;
  for (int i = 0; i < 3; ++i) {
    const ChargeOutcome outcome = bucket.take(allowance, kStart, 1);
    EXPECT_TRUE(outcome.admitted);
    EXPECT_EQ(outcome.delay, i * 100ms);
    EXPECT_EQ(outcome.remaining, 2 - i);
  }
  const ChargeOutcome denied = bucket.take(allowance, kStart, 1);
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.delay, 0ms);
  EXPECT_EQ(denied.retry_after, 100ms);
  EXPECT_EQ(bucket.take(allowance, kStart + 100ms, 1).delay, 200ms);
}

TEST(LeakyBucket, WithoutAQueueAdmitsOnlyWhatNeedNotWait) {
  const Allowance allowance = leaky(3, 1s, 0);
  WordBucket bucket;
  EXPECT_EQ(bucket.take(allowance, kStart, 1).delay, 0us);
  EXPECT_EQ(bucket.take(allowance, kStart + 333'333us, 1).retry_after, 1us);
  EXPECT_TRUE(bucket.take(allowance, kStart + 333'334us, 1).admitted);
}

TEST(LeakyBucket, KeepsTheQueueBoundedForAnyCost) {
  const Allowance allowance = leaky(10, 1s, 4);
  WordBucket bucket;
  EXPECT_TRUE(bucket.peek(allowance, kStart, 6).too_large);
  EXPECT_TRUE(bucket.take(allowance, kStart, 4).admitted);
  const ChargeOutcome last = bucket.take(allowance, kStart, 5);  // waits 400 ms, the most that is allowed
  EXPECT_TRUE(last.admitted);
  EXPECT_EQ(last.delay, 400ms);
  EXPECT_EQ(last.reset_after, 900ms);
  EXPECT_EQ(bucket.take(allowance, kStart, 1).retry_after, 500ms);
}

TEST(LeakyBucket, FillsTheLastPlaceAgainWhenDenialsCount) {
  const Allowance allowance = leaky(10, 1s, 1);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(allowance, kStart, 2).admitted);
  ASSERT_FALSE(bucket.peek(allowance, kStart + 50ms, 1).admitted);
  bucket.count_denied(allowance, kStart + 50ms, 1);
  EXPECT_EQ(bucket.peek(allowance, kStart + 50ms, 1).retry_after, 100ms);
  bucket.count_denied(allowance, kStart + 50ms, 1);
  EXPECT_EQ(bucket.peek(allowance, kStart + 50ms, 1).retry_after, 100ms);
}

TEST(LeakyBucket, ShapesFractionalRatesWithoutDrift) {
  const Allowance allowance = leaky(7, 3s, 3);
  const auto model = models::make_reference_model(allowance);
  WordBucket bucket;
  TimePoint now = kStart;
  std::int64_t admitted = 0;
  std::int64_t expected = 0;
  for (int step = 0; step < 1'000'000; ++step) {
    admitted += bucket.take(allowance, now, 1).admitted ? 1 : 0;
    expected += model->admit(now, 1) ? 1 : 0;
    now += 1'009us;
  }
  EXPECT_EQ(admitted, expected);
}

}  // namespace
}  // namespace weir::algorithms
