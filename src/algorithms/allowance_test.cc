#include "weir/allowance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "algorithms/arithmetic.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

AllowanceSpec spec_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  AllowanceSpec spec;
  spec.algorithm = algorithm;
  spec.limit = limit;
  spec.window = window;
  return spec;
}

std::string refusal(const AllowanceSpec& spec) {
  const Result<Allowance> made = make_allowance(spec);
  if (made.ok()) return "accepted";
  EXPECT_EQ(made.failure().code, Code::invalid_argument);
  return made.failure().message;
}

TEST(AllowanceTest, NamesEveryAlgorithmBothWays) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(algorithm_from_name(algorithm_name(algorithm)), algorithm);
  }
  EXPECT_EQ(algorithm_name(Algorithm::token_bucket), "token-bucket");
  EXPECT_EQ(algorithm_name(Algorithm::bucketed_window), "bucketed-window");
  EXPECT_EQ(algorithm_from_name("token_bucket"), std::nullopt);
  EXPECT_EQ(algorithm_from_name(""), std::nullopt);
}

TEST(AllowanceTest, ReducesTheRateToLowestTerms) {
  const Allowance allowance = make_allowance(spec_of(Algorithm::token_bucket, 120, 60s)).value();
  EXPECT_EQ(allowance.rate_units, 1);
  EXPECT_EQ(allowance.rate_ticks, 500'000);
  const Allowance fast = make_allowance(spec_of(Algorithm::gcra, 7, 3s)).value();
  EXPECT_EQ(fast.rate_units, 7);
  EXPECT_EQ(fast.rate_ticks, 3'000'000);
}

TEST(AllowanceTest, FillsInWhatIsNotSaid) {
  EXPECT_EQ(make_allowance(spec_of(Algorithm::token_bucket, 120, 60s)).value().burst, 120);
  EXPECT_EQ(make_allowance(spec_of(Algorithm::leaky_bucket, 5, 1s)).value().queue, 5);
  EXPECT_EQ(make_allowance(spec_of(Algorithm::bucketed_window, 5, 1s)).value().buckets, 10);
}

TEST(AllowanceTest, TellsTheLargestCost) {
  AllowanceSpec burst = spec_of(Algorithm::token_bucket, 120, 60s);
  burst.burst = 200;
  EXPECT_EQ(make_allowance(burst).value().largest_cost(), 200);
  AllowanceSpec queue = spec_of(Algorithm::leaky_bucket, 10, 1s);
  queue.queue = 3;
  EXPECT_EQ(make_allowance(queue).value().largest_cost(), 4);
  EXPECT_EQ(make_allowance(spec_of(Algorithm::sliding_log, 9, 1s)).value().largest_cost(), 9);
}

TEST(AllowanceTest, RefusesLimitsAndWindowsOutOfBounds) {
  EXPECT_EQ(refusal(spec_of(Algorithm::fixed_window, -1, 1s)), "limit: is -1, expected 0 to 1000000000000");
  EXPECT_EQ(refusal(spec_of(Algorithm::fixed_window, -5, 1s)), "limit: is -5, expected 0 to 1000000000000");
  EXPECT_EQ(refusal(spec_of(Algorithm::fixed_window, kMaxUnits + 1, 1s)),
            "limit: is 1000000000001, expected 0 to 1000000000000");
  EXPECT_EQ(refusal(spec_of(Algorithm::sliding_log, 100'001, 1s)),
            "limit: is 100001, expected 0 to 100000 for sliding-log");
  EXPECT_EQ(refusal(spec_of(Algorithm::fixed_window, 1, 0s)), "window: is 0us, expected 1ms to 3660d");
  EXPECT_EQ(refusal(spec_of(Algorithm::fixed_window, 1, 999us)), "window: is 999us, expected 1ms to 3660d");
  EXPECT_EQ(refusal(spec_of(Algorithm::fixed_window, 1, kMaxWindow + 1h)), "window: is 87841h, expected 1ms to 3660d");
  EXPECT_EQ(refusal(spec_of(Algorithm::fixed_window, kMaxUnits, kMaxWindow)), "accepted");
}

TEST(AllowanceTest, RefusesFieldsOfOtherAlgorithms) {
  AllowanceSpec spec = spec_of(Algorithm::fixed_window, 10, 1s);
  spec.burst = 5;
  EXPECT_EQ(refusal(spec), "burst: does not apply to fixed-window");
  spec = spec_of(Algorithm::token_bucket, 10, 1s);
  spec.queue = 5;
  EXPECT_EQ(refusal(spec), "queue: does not apply to token-bucket");
  spec = spec_of(Algorithm::sliding_log, 10, 1s);
  spec.buckets = 5;
  EXPECT_EQ(refusal(spec), "buckets: does not apply to sliding-log");
  spec = spec_of(Algorithm::leaky_bucket, 10, 1s);
  spec.burst = 5;
  EXPECT_EQ(refusal(spec), "burst: does not apply to leaky-bucket");
}

TEST(AllowanceTest, RefusesFieldsOutOfBounds) {
  AllowanceSpec spec = spec_of(Algorithm::token_bucket, 10, 1s);
  spec.burst = 0;
  EXPECT_EQ(refusal(spec), "burst: is 0, expected 1 to 1000000000000");
  spec = spec_of(Algorithm::leaky_bucket, 10, 1s);
  spec.queue = -1;
  EXPECT_EQ(refusal(spec), "queue: is -1, expected 0 to 1000000000000");
  spec = spec_of(Algorithm::bucketed_window, 10, 1s);
  spec.buckets = 1;
  EXPECT_EQ(refusal(spec), "buckets: is 1, expected 2 to 1000");
  spec.buckets = 1'001;
  EXPECT_EQ(refusal(spec), "buckets: is 1001, expected 2 to 1000");
}

TEST(AllowanceTest, RefusesSubBucketsThatDoNotDivideTheWindow) {
  AllowanceSpec spec = spec_of(Algorithm::bucketed_window, 10, 1s);
  spec.buckets = 7;
  EXPECT_EQ(refusal(spec), "buckets: is 7, expected a number that divides the window of 1s");
  spec.window = 7s;
  EXPECT_EQ(refusal(spec), "accepted");
  EXPECT_EQ(refusal(spec_of(Algorithm::bucketed_window, 10, 1'001us)),
            "buckets: is 10, expected a number that divides the window of 1001us");
}

TEST(AllowanceTest, RefusesCapacitiesThatCannotBeCountedExactly) {
  // A prime limit over ten years: fractions of a unit are so fine that a large burst exceeds 64 bits.
  EXPECT_THAT(refusal(spec_of(Algorithm::token_bucket, 999'999'999'989, kMaxWindow)),
              StartsWith("limit: is 999999999989, expected a rounder one, or a burst of at most 14583 at a rate of"));
  AllowanceSpec spec = spec_of(Algorithm::gcra, 1, kMaxWindow);
  spec.burst = 14'584;
  EXPECT_EQ(refusal(spec), "burst: is 14584, expected at most 14583 at a rate of 1 every 3660d");
  spec.burst = 14'583;
  EXPECT_EQ(refusal(spec), "accepted");
  spec = spec_of(Algorithm::leaky_bucket, 1, kMaxWindow);
  spec.queue = 7'292;
  EXPECT_THAT(refusal(spec), HasSubstr("queue: is 7292, expected at most 7291"));
  spec.queue = 7'291;
  EXPECT_EQ(refusal(spec), "accepted");
  EXPECT_EQ(refusal(spec_of(Algorithm::token_bucket, kMaxUnits, 24h)), "accepted");
}

TEST(AllowanceTest, ALimitOfZeroFitsNoCost) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    AllowanceSpec spec = spec_of(static_cast<Algorithm>(i), 0, 10s);
    if (spec.algorithm == Algorithm::gcra) spec.burst = 5;
    if (spec.algorithm == Algorithm::leaky_bucket) spec.queue = 5;
    const Result<Allowance> made = make_allowance(spec);
    ASSERT_TRUE(made.ok()) << made.failure().message;
    EXPECT_EQ(made.value().largest_cost(), 0) << algorithm_name(spec.algorithm);
    EXPECT_GT(made.value().rate_units, 0);
  }
}

}  // namespace
}  // namespace weir
