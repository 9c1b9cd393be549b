// Rules that deny on purpose: a limit of 0, costs that are not numbers, requests that no rule counts.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// A memory store that can be away.
class StoreThatFails final : public Store {
 public:
  bool begin(StoreCall& call) override {
    if (!away) return memory_.begin(call);
    call.status = Code::unavailable;
    return true;
  }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "store"; }

  bool away = false;

 private:
  memory::MemoryStore memory_;
};

class StrictRules : public ::testing::Test {
 protected:
  Engine& engine_with(const Rules& rules) {
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace(rules).ok()) << book->last_error();
    LimiterOptions options;
    options.store = store_;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {4};
    engine_ = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
    return *engine_;
  }

  std::shared_ptr<StoreThatFails> store_ = std::make_shared<StoreThatFails>();
  std::unique_ptr<Engine> engine_;
};

Rule rule_with(Algorithm algorithm, std::int64_t limit) {
  Rule rule;
  rule.id = "r";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = algorithm, .limit = limit, .window = 10s};
  return rule;
}

void expect_denied_without_end(const Decision& decision) {
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::limit_exceeded);
  EXPECT_EQ(decision.retry_after, Duration::zero());
  ASSERT_NE(decision.decisive(), nullptr);
  EXPECT_EQ(decision.decisive()->limit, 0);
  EXPECT_EQ(decision.decisive()->remaining, 0);
}

TEST_F(StrictRules, ALimitOfZeroDeniesEveryCostUnderEveryAlgorithm) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    Rule rule = rule_with(algorithm, 0);
    if (algorithm == Algorithm::token_bucket) rule.allowance.burst = 100;
    if (algorithm == Algorithm::leaky_bucket) rule.allowance.queue = 100;
    for (const bool count_denied : {false, true}) {
      SCOPED_TRACE(std::string(algorithm_name(algorithm)) + (count_denied ? ", counts denied requests" : ""));
      rule.count_denied = count_denied;
      Engine& engine = engine_with({.rules = {rule}});
      for (const std::int64_t cost : {1, 0, 7}) {
        expect_denied_without_end(engine.check(Request({{"tenant", "a"}}, Cost{cost})));
      }
    }
  }
}

TEST_F(StrictRules, ALimitOfZeroDeniesAlsoWhileTheStoreIsAway) {
  store_->away = true;
  for (int i = 0; i < static_cast<int>(kFailurePolicyCount); ++i) {
    Rule rule = rule_with(Algorithm::fixed_window, 0);
    rule.on_store_failure = static_cast<FailurePolicy>(i);
    rule.static_limit = 5;
    SCOPED_TRACE(std::string(failure_policy_name(rule.on_store_failure->policy)));
    EXPECT_FALSE(engine_with({.rules = {rule}}).check(Request({{"tenant", "a"}})).allowed);
  }
}

TEST_F(StrictRules, APlanCanHaveALimitOfZero) {
  Rule rule = rule_with(Algorithm::token_bucket, 10);
  rule.plans = {{"blocked", {.limit = 0}}};
  Engine& engine = engine_with({.rules = {rule}});
  EXPECT_TRUE(engine.check(Request({{"tenant", "a"}})).allowed);
  expect_denied_without_end(engine.check(Request({{"tenant", "a"}, {"plan", "blocked"}})));
  EXPECT_TRUE(engine.check(Request({{"tenant", "a"}})).allowed);
}

TEST_F(StrictRules, ARequestThatNoRuleCountsCanBeDenied) {
  const Rules rules = {.rules = {rule_with(Algorithm::gcra, 1)}, .on_no_rule = NoRulePolicy::deny};
  const Decision denied = engine_with(rules).check(Request({{"user", "a"}}));
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.reason, Reason::no_rule);
  EXPECT_TRUE(engine_->check(Request({{"tenant", "a"}})).allowed);
  EXPECT_TRUE(engine_with({.rules = rules.rules}).check(Request({{"user", "a"}})).allowed);
}

TEST_F(StrictRules, ACostThatIsNoNumberCanBeDeniedAndIsNeverRefunded) {
  Rule rule = rule_with(Algorithm::token_bucket, 10);
  rule.cost.kind = CostModel::Kind::attribute;
  rule.cost.attribute = "tokens";
  rule.on_bad_cost = BadCostPolicy::deny;
  Engine& engine = engine_with({.rules = {rule}});
  EXPECT_TRUE(engine.check(Request({{"tenant", "a"}, {"tokens", "4"}})).allowed);
  const Decision denied = engine.check(Request({{"tenant", "a"}, {"tokens", "abc"}}));
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.reason, Reason::cost_too_large);
  ASSERT_NE(denied.decisive(), nullptr);
  EXPECT_TRUE(denied.decisive()->bad_cost);
  engine.refund(Request({{"tenant", "a"}, {"tokens", "abc"}}));
  EXPECT_EQ(engine.check(Request({{"tenant", "a"}, {"tokens", "1"}})).decisive()->remaining, 5);
}

}  // namespace
}  // namespace weir::engine
