// The promise of `t`: after it, if nothing else is charged, more is left than now, or all. Kept on random decisions of
// every algorithm, on the real engine and store and a clock that the test moves.
#include "frontends/render/quota_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <regex>

#include "frontends/render/decision_headers.h"
#include "weir/limiter.h"

namespace weir::render {
namespace {

using namespace std::chrono_literals;

struct Numbers {
  std::int64_t limit;
  Duration window;
  std::int64_t more;  // burst, queue or buckets, where the algorithm has one; 0: its default
};

bool is_exact(Algorithm algorithm) {
  return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra || algorithm == Algorithm::leaky_bucket ||
         algorithm == Algorithm::fixed_window;
}

class QuotaTime : public testing::TestWithParam<Algorithm> {
 protected:
  void start(const Numbers& numbers) {
    Rule rule;
    rule.id = "r";
    rule.per = {"user"};
    rule.allowance.algorithm = GetParam();
    rule.allowance.limit = numbers.limit;
    rule.allowance.window = numbers.window;
    if (numbers.more > 0) {
      if (GetParam() == Algorithm::token_bucket || GetParam() == Algorithm::gcra) rule.allowance.burst = numbers.more;
      if (GetParam() == Algorithm::leaky_bucket) rule.allowance.queue = numbers.more;
      if (GetParam() == Algorithm::bucketed_window) rule.allowance.buckets = 5;
    }
    Rules rules;
    rules.rules.push_back(rule);
    LimiterOptions options;
    options.clock = clock_;
    Result<std::unique_ptr<Limiter>> made = Limiter::create(rules, options);
    ASSERT_TRUE(made.ok()) << made.failure().message;
    limiter_ = std::move(made).value();
  }
  Decision ask(std::int64_t cost) {
    const std::array<Attribute, 1> who = {Attribute{"user", "ann"}};
    return limiter_->check(Request(who, Cost{cost}));
  }
  std::int64_t left_now() { return ask(0).rules[0].remaining; }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::unique_ptr<Limiter> limiter_;
};

// What the RateLimit field of one rule says; 0: no t.
std::int64_t t_of(const Decision& decision) {
  std::string field;
  append_rate_limit(field, decision);
  std::smatch found;
  return std::regex_search(field, found, std::regex(";t=([0-9]+)$")) ? std::stoll(found[1]) : 0;
}

constexpr Numbers kNumbers[] = {{10, 60s, 0}, {7, 1s, 20},           {1, 1h, 3},      {1000, 10s, 10},
                                {3, 1ms, 0},  {1'000'003, 997ms, 0}, {50, 86400s, 5}, {99'999, 3600s, 100'000}};

TEST_P(QuotaTime, MoreIsLeftAfterItAndNotBeforeIt) {
  std::mt19937_64 random(20'260'701);
  for (const Numbers& numbers : kNumbers) {
    if (GetParam() == Algorithm::sliding_log && numbers.limit > kMaxLogLimit) continue;
    if (GetParam() == Algorithm::bucketed_window && numbers.window.count() % 10 != 0) continue;
    SCOPED_TRACE(testing::Message() << algorithm_name(GetParam()) << " " << numbers.limit << " per "
                                    << numbers.window.count() << " us");
    start(numbers);
    int grown = 0;
    for (int i = 0; i < 400; ++i) {
      clock_->advance(Duration(static_cast<std::int64_t>(random() % (numbers.window.count() / 3 + 2))));
      // Now and then a cost of nothing, or one that can never fit.
      const std::int64_t most = std::min<std::int64_t>({numbers.limit, numbers.more > 0 ? numbers.more : 40, 40});
      const Decision decision = ask(static_cast<std::int64_t>(random() % most) + (i % 7 == 0 ? 0 : i % 7 == 1 ? 2 : 1));
      const RuleOutcome& rule = decision.rules[0];
      const Duration wait = time_to_more_quota(rule);
      ASSERT_LE(wait, std::max(rule.reset_after, rule.retry_after));
      ASSERT_EQ(wait.count() == 0, rule.remaining == rule.capacity) << "t is left out exactly of a full rule";
      ASSERT_EQ(t_of(decision), ceil_seconds(wait));
      if (!decision.allowed && !rule.too_large) {
        ASSERT_GE(retry_after_seconds(decision), t_of(decision));
      }
      if (wait.count() == 0) continue;
      const TimePoint then = clock_->now();
      if (is_exact(GetParam()) && decision.allowed && wait.count() > 2) {
        clock_->set(then + wait - 2us);
        ASSERT_LE(left_now(), rule.remaining) << "more was there before " << wait.count() << " us had passed";
      }
      clock_->set(then + wait);
      ASSERT_GT(left_now(), rule.remaining) << "after " << wait.count() << " us";
      ++grown;
    }
    EXPECT_GT(grown, 100) << "the test must see buckets in use";
  }
}

// The complaint that made this: one of 120 a minute is used, and the next one is there in half a second, not in a
// minute.
TEST_P(QuotaTime, IsNotTheTimeUntilFullWhereUnitsComeOneByOne) {
  if (GetParam() != Algorithm::token_bucket && GetParam() != Algorithm::gcra) return;
  start({60, 60s, 0});
  const Decision decision = ask(50);
  EXPECT_EQ(decision.rules[0].reset_after, 50s);
  EXPECT_EQ(t_of(decision), 1);
}

TEST_P(QuotaTime, ASlidingCounterMeltsByOneUnitSoonAfterItsWindow) {
  if (GetParam() != Algorithm::sliding_counter) return;
  clock_->set(from_micros(1'800'000'000'000'000));  // a whole minute
  start({60, 60s, 0});
  clock_->advance(50s);
  EXPECT_EQ(t_of(ask(30)), 12) << "10 s to the end of the window, 2 s for one of 30 units";
}

INSTANTIATE_TEST_SUITE_P(EveryAlgorithm, QuotaTime,
                         testing::Values(Algorithm::fixed_window, Algorithm::bucketed_window, Algorithm::sliding_log,
                                         Algorithm::sliding_counter, Algorithm::token_bucket, Algorithm::gcra,
                                         Algorithm::leaky_bucket),
                         [](const auto& of) {
                           std::string name(algorithm_name(of.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Debt beyond the capacity: numbers became smaller than what was used.
TEST(QuotaTimeOfDebt, IsHonestWhenMoreIsOwedThanFits) {
  RuleOutcome rule;
  rule.algorithm = Algorithm::token_bucket;
  rule.limit = 60;
  rule.window = 60s;
  rule.capacity = 10;
  rule.remaining = 0;
  rule.reset_after = 25s;  // 25 units
  EXPECT_EQ(time_to_more_quota(rule), 16s) << "15 units of debt, then one";
  rule.reset_after = 10s;
  EXPECT_EQ(time_to_more_quota(rule), 1s);
  rule.store_failed = true;
  EXPECT_EQ(time_to_more_quota(rule), 10s);
}

// A bucket that other numbers charged can be full sooner than these numbers would fill it.
TEST(QuotaTimeOfDebt, IsNeverNothingForABucketInUse) {
  RuleOutcome rule;
  rule.algorithm = Algorithm::token_bucket;
  rule.limit = 60;
  rule.window = 60s;
  rule.capacity = 10;
  rule.remaining = 0;
  rule.reset_after = 5s;
  EXPECT_EQ(time_to_more_quota(rule), 1us);
  rule.reset_after = 0s;
  EXPECT_EQ(time_to_more_quota(rule), 0s);
}

TEST(QuotaTimeOfDebt, LargestNumbersDoNotOverflow) {
  RuleOutcome rule;
  rule.algorithm = Algorithm::gcra;
  rule.limit = kMaxUnits;
  rule.window = kMaxWindow;
  rule.capacity = kMaxUnits;
  rule.remaining = 0;
  rule.reset_after = kMaxWindow;
  EXPECT_GT(time_to_more_quota(rule), 0us);
  EXPECT_LE(time_to_more_quota(rule), 1ms);
}

}  // namespace
}  // namespace weir::render
