#include "stores/redis/answer.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace weir::redis {
namespace {

using std::chrono::seconds;

std::vector<ReplyItem> numbers(std::initializer_list<std::int64_t> values) {
  std::vector<ReplyItem> items;
  for (const std::int64_t value : values) items.push_back({ReplyKind::integer, value, {}});
  return items;
}

Allowance allowance_of(Algorithm algorithm) {
  AllowanceSpec spec;
  spec.algorithm = algorithm;
  spec.limit = 10;
  spec.window = seconds(60);
  if (algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra) spec.burst = 25;
  if (algorithm == Algorithm::leaky_bucket) spec.queue = 7;
  return make_allowance(spec).value();
}

TEST(ReadOutcome, TakesWhatAScriptCanAnswer) {
  const Allowance allowance = allowance_of(Algorithm::fixed_window);
  ChargeOutcome outcome;
  ASSERT_TRUE(read_outcome(numbers({1, 10, 0, 5, 3}), allowance, outcome));
  EXPECT_TRUE(outcome.admitted);
  EXPECT_FALSE(outcome.too_large);
  EXPECT_EQ(outcome.remaining, 10);
  EXPECT_EQ(outcome.reset_after, Duration(5));
  EXPECT_EQ(outcome.delay, Duration(3));
  ASSERT_TRUE(read_outcome(numbers({0, 0, 7, 8, 0}), allowance, outcome));
  EXPECT_FALSE(outcome.admitted);
  EXPECT_EQ(outcome.retry_after, Duration(7));
  ASSERT_TRUE(read_outcome(numbers({2, 0, 0, kMostMicros, 0}), allowance, outcome));
  EXPECT_TRUE(outcome.too_large);
  EXPECT_FALSE(outcome.admitted);
}

TEST(ReadOutcome, RemainingIsWhatTheAllowanceCanHave) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const Allowance allowance = allowance_of(static_cast<Algorithm>(i));
    const std::int64_t most = i == static_cast<int>(Algorithm::token_bucket) || i == static_cast<int>(Algorithm::gcra)
                                  ? 25
                              : i == static_cast<int>(Algorithm::leaky_bucket) ? 8
                                                                               : 10;
    ChargeOutcome outcome;
    EXPECT_TRUE(read_outcome(numbers({1, most, 0, 0, 0}), allowance, outcome)) << i;
    EXPECT_FALSE(read_outcome(numbers({1, most + 1, 0, 0, 0}), allowance, outcome)) << i;
  }
}

// Every place, with the numbers that no script of ours can give.
TEST(ReadOutcome, RefusesEveryOtherNumber) {
  const Allowance allowance = allowance_of(Algorithm::token_bucket);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (std::size_t place = 0; place < kAnswer; ++place) {
    for (const std::int64_t wrong : {kLeast, std::int64_t{-1}, kMostMicros + 1, kMost}) {
      std::vector<ReplyItem> answer = numbers({1, 1, 1, 1, 1});
      answer[place].number = wrong;
      ChargeOutcome outcome;
      EXPECT_FALSE(read_outcome(answer, allowance, outcome)) << place << ' ' << wrong;
    }
    for (const ReplyKind wrong : {ReplyKind::nil, ReplyKind::text, ReplyKind::error, ReplyKind::array}) {
      std::vector<ReplyItem> answer = numbers({1, 1, 1, 1, 1});
      answer[place].kind = wrong;
      ChargeOutcome outcome;
      EXPECT_FALSE(read_outcome(answer, allowance, outcome)) << place;
    }
  }
  ChargeOutcome outcome;
  EXPECT_FALSE(read_outcome(numbers({3, 1, 1, 1, 1}), allowance, outcome));
}

TEST(ReadStanding, TakesAndRefusesLikewise) {
  const Allowance allowance = allowance_of(Algorithm::token_bucket);
  Standing standing;
  ASSERT_TRUE(read_standing(numbers({25, 3, 1'700'000'000'000'000}), allowance, standing));
  EXPECT_EQ(standing.remaining, 25);
  EXPECT_EQ(standing.reset_after_us, 3);
  EXPECT_EQ(standing.charged_at_us, 1'700'000'000'000'000);
  for (std::size_t place = 0; place < 3; ++place) {
    for (const std::int64_t wrong : {std::int64_t{-1}, kMostMicros + 1}) {
      std::vector<ReplyItem> answer = numbers({1, 1, 1});
      answer[place].number = wrong;
      EXPECT_FALSE(read_standing(answer, allowance, standing)) << place << ' ' << wrong;
    }
  }
  EXPECT_FALSE(read_standing(numbers({26, 1, 1}), allowance, standing));
}

}  // namespace
}  // namespace weir::redis
