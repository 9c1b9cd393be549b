// Token bucket and GCRA: one bucket under two names.
#include <gtest/gtest.h>

#include <random>

#include "algorithms/debt.h"
#include "tests/models/reference_models.h"
#include "tests/models/word_bucket.h"

namespace weir::algorithms {
namespace {

using namespace std::chrono_literals;
using models::answer_of;
using models::WordBucket;

constexpr TimePoint kStart = TimePoint{Duration{1'800'000'000'000'000}};

Allowance allowance_of(Algorithm algorithm, std::int64_t limit, Duration window,
                       std::optional<std::int64_t> burst = std::nullopt) {
  AllowanceSpec spec;
  spec.algorithm = algorithm;
  spec.limit = limit;
  spec.window = window;
  spec.burst = burst;
  return make_allowance(spec).value();
}

class BurstAlgorithms : public ::testing::TestWithParam<Algorithm> {
 protected:
  Allowance allowance(std::int64_t limit, Duration window, std::optional<std::int64_t> burst = std::nullopt) const {
    return allowance_of(GetParam(), limit, window, burst);
  }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, BurstAlgorithms, ::testing::Values(Algorithm::token_bucket, Algorithm::gcra),
                         [](const auto& tested) { return tested.param == Algorithm::gcra ? "gcra" : "token_bucket"; });

TEST_P(BurstAlgorithms, TellWhatIsLeftAndWhenItIsFullAgain) {
  const Allowance per_minute = allowance(120, 60s);
  WordBucket bucket;
  const ChargeOutcome first = bucket.take(per_minute, kStart, 1);
  EXPECT_TRUE(first.admitted);
  EXPECT_EQ(first.remaining, 119);
  EXPECT_EQ(first.reset_after, 500ms);
  EXPECT_EQ(first.retry_after, 0ms);
  EXPECT_EQ(bucket.peek(per_minute, kStart + 500ms, 0).remaining, 120);
}

TEST_P(BurstAlgorithms, DenyWhenEmptyAndTellTheExactWait) {
  const Allowance seven_in_three = allowance(7, 3s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(seven_in_three, kStart, 7).admitted);
  const ChargeOutcome denied = bucket.take(seven_in_three, kStart, 2);
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.remaining, 0);
  EXPECT_EQ(denied.retry_after, Duration{857'143});  // 2 * 3 s / 7, rounded up
  EXPECT_EQ(denied.reset_after, 3s);
}

TEST_P(BurstAlgorithms, SayThatACostAboveTheBurstNeverFits) {
  const Allowance small = allowance(10, 1s, 5);
  WordBucket bucket;
  const ChargeOutcome outcome = bucket.take(small, kStart, 6);
  EXPECT_FALSE(outcome.admitted);
  EXPECT_TRUE(outcome.too_large);
  EXPECT_EQ(outcome.retry_after, 0ms);
  EXPECT_EQ(outcome.remaining, 5);
}

TEST_P(BurstAlgorithms, NeverRefillWhenTheClockRunsBackward) {
  const Allowance one_per_second = allowance(1, 1s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(one_per_second, kStart, 1).admitted);
  // Back and forth between two moments, a refill of the difference each time would admit.
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(bucket.take(one_per_second, kStart - 10min, 1).admitted);
    EXPECT_FALSE(bucket.take(one_per_second, kStart + 999'999us, 1).admitted);
  }
  // By the caller's late clock the wait is longer.
  EXPECT_EQ(bucket.peek(one_per_second, kStart - 10min, 1).retry_after, 10min + 1s);
}

TEST_P(BurstAlgorithms, RefundNeverAboveFull) {
  const Allowance ten = allowance(10, 10s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(ten, kStart, 4).admitted);
  bucket.refund(ten, kStart, 3);
  EXPECT_EQ(bucket.peek(ten, kStart, 0).remaining, 9);
  bucket.refund(ten, kStart, kMaxUnits);
  EXPECT_EQ(bucket.peek(ten, kStart, 0).remaining, 10);
  EXPECT_EQ(bucket.take(ten, kStart, 10).remaining, 0);
}

TEST_P(BurstAlgorithms, CountADenialDownToEmptyAndNotBelow) {
  const Allowance ten = allowance(10, 10s);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(ten, kStart, 8).admitted);
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(bucket.peek(ten, kStart, 3).admitted);
    bucket.count_denied(ten, kStart, 3);
    EXPECT_EQ(bucket.peek(ten, kStart, 0).remaining, 0);
    EXPECT_EQ(bucket.peek(ten, kStart, 3).retry_after, 3s);
  }
}

TEST_P(BurstAlgorithms, HoldUnderTheLargestNumbers) {
  const Allowance huge = allowance(kMaxUnits, 1ms, kMaxUnits);
  WordBucket bucket;
  EXPECT_EQ(bucket.take(huge, kStart, kMaxUnits).remaining, 0);
  EXPECT_EQ(bucket.peek(huge, kStart, kMaxUnits).retry_after, 1ms);
  EXPECT_TRUE(bucket.peek(huge, kStart + 1ms, kMaxUnits).admitted);

  const Allowance slow = allowance(1, kMaxWindow, 14'583);  // the capacity just fits
  WordBucket years;
  EXPECT_TRUE(years.take(slow, kStart, 14'583).admitted);
  const Duration wait = years.peek(slow, kStart, 14).retry_after;
  EXPECT_EQ(wait, 14 * kMaxWindow);
  EXPECT_TRUE(years.peek(slow, kStart + wait, 14).admitted);
  EXPECT_FALSE(years.peek(slow, kStart + wait - 1us, 14).admitted);
  // Waits are reported up to 142 years; the debt itself is not shortened.
  EXPECT_EQ(years.peek(slow, kStart, 1'000).retry_after, Duration{kLongestWait});
  EXPECT_FALSE(years.peek(slow, kStart + Duration{kLongestWait}, 1'000).admitted);
  // The end of time, in the year 2255, is not an overflow.
  EXPECT_TRUE(years.peek(slow, TimePoint::max(), 22).admitted);
  EXPECT_FALSE(years.peek(slow, TimePoint::max(), 23).admitted);
  EXPECT_TRUE(years.peek(slow, TimePoint::min(), 1).retry_after > 0us);
}

// Over a million steps the admitted count is exactly the model's, and the model's exactly the rate's.
TEST_P(BurstAlgorithms, AdmitFractionalRatesWithoutDrift) {
  struct Rate {
    std::int64_t limit;
    Duration window;
    Duration step;
  };
  for (const Rate& rate :
       {Rate{7, 3s, 1'009us}, Rate{1, 7ms, 13us}, Rate{1'000'000, 1s, 1us}, Rate{3, 1s, 333'333us}}) {
    const Allowance allowed = allowance(rate.limit, rate.window, 1);
    const auto model = models::make_reference_model(allowed);
    WordBucket bucket;
    TimePoint now = kStart;
    std::int64_t admitted = 0;
    std::int64_t expected = 0;
    for (int step = 0; step < 1'000'000; ++step) {
      admitted += bucket.take(allowed, now, 1).admitted ? 1 : 0;
      expected += model->admit(now, 1) ? 1 : 0;
      now += rate.step;
    }
    EXPECT_EQ(admitted, expected) << rate.limit << " per " << rate.window.count() << "us";
    const std::int64_t at_most = 1 + (now - kStart).count() * rate.limit / rate.window.count();
    EXPECT_LE(admitted, at_most);
  }
}

// A caller that always comes at the promised moment loses nothing: rounding a wait up never costs a unit of the rate.
TEST_P(BurstAlgorithms, KeepTheFractionThatWaitingRoundsUp) {
  const Allowance seven_in_three = allowance(7, 3s, 2);
  WordBucket bucket;
  TimePoint now = kStart;
  std::int64_t admitted = 0;
  while (now < kStart + 3'000s) {
    const ChargeOutcome outcome = bucket.take(seven_in_three, now, 1);
    admitted += outcome.admitted ? 1 : 0;
    now += outcome.retry_after;
  }
  EXPECT_EQ(admitted, 7'000 + 1);  // 3,000 s of the rate; of the burst of 2, one is the first of these
}

// Changed limits apply at once, and what was used stays used.
TEST(TokenBucket, KeepsWhatWasUsedWhenLimitsChange) {
  const Allowance ten = allowance_of(Algorithm::token_bucket, 10, 60s);
  const Allowance twenty = allowance_of(Algorithm::token_bucket, 20, 60s);
  const Allowance five = allowance_of(Algorithm::token_bucket, 5, 60s);
  const Allowance other_window = allowance_of(Algorithm::token_bucket, 10, 7ms);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(ten, kStart, 8).admitted);
  EXPECT_EQ(bucket.peek(ten, kStart, 0).remaining, 2);
  EXPECT_EQ(bucket.peek(twenty, kStart, 0).remaining, 12);
  EXPECT_EQ(bucket.peek(five, kStart, 0).remaining, 0);
  EXPECT_EQ(bucket.peek(other_window, kStart, 0).remaining, 2);
  EXPECT_EQ(bucket.peek(five, kStart, 1).retry_after, 48s);  // 8 + 1 - 5 units at one every 12 s
}

// The new rate applies from the last request on; the fraction of a unit that was owed then is rounded up.
TEST(TokenBucket, NeverRefillsThroughAChangeOfRateEvenAFraction) {
  const Allowance fine = allowance_of(Algorithm::token_bucket, 7, 3s, 10);
  WordBucket bucket;
  ASSERT_TRUE(bucket.take(fine, kStart, 10).admitted);
  ASSERT_TRUE(bucket.take(fine, kStart + 1s, 1).admitted);  // leaves a debt of 8 2/3 units
  ASSERT_EQ(bucket.peek(fine, kStart + 1s, 0).remaining, 1);
  for (const auto& [limit, window] : {std::pair<std::int64_t, Duration>{1'000'000, 1s}, {1, 1h}, {999'983, 24h}}) {
    const Allowance changed = allowance_of(Algorithm::token_bucket, limit, window, 10);
    EXPECT_EQ(bucket.peek(changed, kStart + 1s, 0).remaining, 1) << limit << " per " << window.count();
  }
  EXPECT_EQ(bucket.peek(allowance_of(Algorithm::token_bucket, 1, 1h, 10), kStart + 1s, 2).retry_after, 40min);
}

TEST(Gcra, KeepsWhatWasUsedWhenTheRateChanges) {
  const Allowance slow = allowance_of(Algorithm::gcra, 10, 1h);
  const Allowance fast = allowance_of(Algorithm::gcra, 1'000, 1h);
  WordBucket full;
  ASSERT_TRUE(full.take(slow, kStart, 10).admitted);
  EXPECT_EQ(full.peek(fast, kStart, 0).remaining, 990);
  WordBucket half;
  ASSERT_TRUE(half.take(fast, kStart, 500).admitted);
  EXPECT_EQ(half.peek(slow, kStart, 0).remaining, 0);
  EXPECT_EQ(half.peek(slow, kStart, 1).retry_after, 491 * 6min);
  EXPECT_EQ(half.peek(allowance_of(Algorithm::gcra, 1'000, 2h), kStart, 0).remaining, 500);
}

// On 100,000 random decisions with backward clocks, refunds and counted denials.
TEST(Gcra, DecidesAsTheTokenBucket) {
  std::mt19937_64 random(20'240'607);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::int64_t admitted = 0;
  for (int round = 0; round < 1'000; ++round) {
    const std::int64_t limit = pick(1, 200);
    const std::int64_t burst = pick(1, 300);
    const Duration window{pick(1'000, 5'000'000)};
    const Allowance token = allowance_of(Algorithm::token_bucket, limit, window, burst);
    const Allowance gcra = allowance_of(Algorithm::gcra, limit, window, burst);
    WordBucket token_words;
    WordBucket gcra_words;
    TimePoint now = kStart;
    for (int step = 0; step < 100; ++step) {
      now += Duration{pick(-window.count() / 20, 3 * window.count() / limit)};
      const std::int64_t cost = pick(0, 9) == 0 ? pick(0, burst + 1) : pick(1, 3);
      const ChargeOutcome expected = token_words.take(token, now, cost);
      ASSERT_EQ(answer_of(gcra_words.take(gcra, now, cost)), answer_of(expected));
      admitted += expected.admitted ? 1 : 0;
      if (!expected.admitted && !expected.too_large && pick(0, 3) == 0) {
        token_words.count_denied(token, now, cost);
        gcra_words.count_denied(gcra, now, cost);
      }
      if (pick(0, 15) == 0) {
        token_words.refund(token, now, cost);
        gcra_words.refund(gcra, now, cost);
      }
      ASSERT_EQ(gcra_words.idle_from(gcra), token_words.idle_from(token));
    }
  }
  // Both answers occurred often: the comparison was not of one constant with another.
  EXPECT_GT(admitted, 20'000);
  EXPECT_LT(admitted, 95'000);
}

}  // namespace
}  // namespace weir::algorithms
