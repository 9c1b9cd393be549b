// What callers of a limiter are told when a slice answers, and what the engine makes of a store with slices.
#include <gtest/gtest.h>

#include "stores/leased/leased_store.h"
#include "stores/memory/memory_store.h"
#include "weir/limiter.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Rule leased_rule() {
  Rule rule;
  rule.id = "hot";
  rule.per = {"key"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = 1'000, .window = 1s};
  rule.consistency = Consistency::leased;
  return rule;
}

class LeasedAnswers : public testing::Test {
 protected:
  explicit LeasedAnswers(std::vector<Rule> rules = {leased_rule()}) {
    LimiterOptions options;
    options.store = std::make_shared<leased::LeasedStore>(leased::Options{.store = memory_, .clock = clock_});
    options.clock = clock_;
    Rules all;
    all.rules = std::move(rules);
    limiter_ = Limiter::create(all, options).value();
  }
  Decision check(std::string_view key = "a") { return limiter_->check({{"key", key}}); }
  Decision when_hot(std::string_view key = "a") {
    for (int i = 0; i < 100; ++i) {
      clock_->advance(1ms);
      EXPECT_TRUE(check(key).allowed);
    }
    return check(key);
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<memory::MemoryStore> memory_ = std::make_shared<memory::MemoryStore>();
  std::unique_ptr<Limiter> limiter_;
};

TEST_F(LeasedAnswers, AColdKeyIsAnsweredByTheStore) {
  const Decision decision = check();
  EXPECT_EQ(decision.source, "memory");
  EXPECT_EQ(decision.rules[0].consistency, Consistency::leased);
  EXPECT_FALSE(decision.rules[0].estimated);
  EXPECT_EQ(decision.rules[0].remaining, 999);
}

TEST_F(LeasedAnswers, AHotKeyIsAnsweredByTheLeaseAndSaysSo) {
  const Decision decision = when_hot();
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.source, "lease");
  EXPECT_TRUE(decision.rules[0].estimated);
  EXPECT_EQ(decision.rules[0].tolerance, 0);
  EXPECT_GT(decision.rules[0].remaining, 500);
  EXPECT_LE(decision.rules[0].remaining, 1'000);
}

TEST_F(LeasedAnswers, NewRulesSpendNothingThatWasDrawnUnderTheOldOnes) {
  when_hot();
  Rules tighter;
  tighter.rules = {leased_rule()};
  tighter.rules[0].allowance.limit = 10;
  ASSERT_TRUE(limiter_->replace(tighter).ok());
  EXPECT_FALSE(check().allowed) << "the bucket owes far more than 10";
}

class SeveralLeasedAnswers : public LeasedAnswers {
 protected:
  static std::vector<Rule> both() {
    Rule exact = leased_rule();
    exact.id = "exact";
    exact.per = {"key"};
    exact.consistency = Consistency::exact;
    exact.allowance = {.algorithm = Algorithm::fixed_window, .limit = 150, .window = 1h};
    return {leased_rule(), exact};
  }
  SeveralLeasedAnswers() : LeasedAnswers(both()) {}
};

TEST_F(SeveralLeasedAnswers, ARuleThatDeniesTakesNothingFromTheOthersSlice) {
  when_hot();
  while (check().allowed) {
  }
  const std::int64_t before = limiter_->check({{"key", "a"}}).rules[0].remaining;
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(check().allowed);
  EXPECT_EQ(check().rules[0].remaining, before);
  EXPECT_TRUE(check().rules[0].allowed);
  EXPECT_EQ(check().source, "memory") << "the exact rule was asked";
}

}  // namespace
}  // namespace weir
