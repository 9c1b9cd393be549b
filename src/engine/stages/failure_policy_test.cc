// Several rules with several policies while the store does not answer: all of them admit and count, or none counts.
#include "engine/stages/failure_policy.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

class AwayStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    if (away) call.status = Code::unavailable;
    return true;
  }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "away"; }

  bool away = true;
};

Rule make_rule(std::string id, std::int64_t limit, FailurePolicy policy) {
  Rule rule;
  rule.id = std::move(id);
  rule.match = {{"rules", {"*" + rule.id + "*"}}};
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 1h};
  rule.on_store_failure = policy;
  rule.local_share = 100;
  rule.static_limit = limit;
  return rule;
}

class FailurePoliciesTest : public ::testing::Test {
 protected:
  void load(std::vector<Rule> rules) {
    const auto book = std::make_shared<rules::RuleBook>();
    ASSERT_TRUE(book->replace({.rules = std::move(rules)}).ok());
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = {1};
    engine_ = std::make_unique<Engine>(book, options, fallback_);
  }
  // Asks for the rules whose ids the text names.
  Decision check(std::string_view rules, std::int64_t cost = 1) {
    const Attribute attributes[] = {{"rules", rules}, {"tenant", "x"}};
    return engine_->check(Request(attributes, Cost{cost}));
  }
  Decision refund(std::string_view rules) {
    const Attribute attributes[] = {{"rules", rules}, {"tenant", "x"}};
    return engine_->refund(Request(attributes));
  }
  // How many requests the rule admits from now on.
  int left(std::string_view rule) {
    int admitted = 0;
    while (admitted < 100 && check(rule).allowed) ++admitted;
    return admitted;
  }

  std::shared_ptr<Store> fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22});
  std::shared_ptr<AwayStore> store_ = std::make_shared<AwayStore>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(FailurePoliciesTest, ADeniedRequestDoesNotDrainTheLocalAllowanceOfItsOtherRules) {
  for (const FailurePolicy counting : {FailurePolicy::local, FailurePolicy::static_limit}) {
    for (const bool deny_first : {false, true}) {
      fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22});
      const Rule counts = make_rule("counts", 5, counting);
      const Rule denies = make_rule("denies", 5, FailurePolicy::deny);
      load(deny_first ? std::vector{denies, counts} : std::vector{counts, denies});
      for (int i = 0; i < 20; ++i) {
        const Decision decision = check("counts denies");
        EXPECT_FALSE(decision.allowed);
        EXPECT_EQ(decision.reason, Reason::store_unavailable);
      }
      EXPECT_EQ(left("counts"), 5);
    }
  }
}

TEST_F(FailurePoliciesTest, ALocalDenialDoesNotDrainAnotherLocalAllowance) {
  load({make_rule("narrow", 2, FailurePolicy::local), make_rule("wide", 10, FailurePolicy::local)});
  EXPECT_EQ(left("narrow wide"), 2);
  EXPECT_EQ(left("wide"), 8);
}

TEST_F(FailurePoliciesTest, ARuleInShadowModeThatWouldDenyHoldsBackNothing) {
  Rule denies = make_rule("denies", 5, FailurePolicy::deny);
  denies.mode = Mode::shadow;
  load({denies, make_rule("counts", 5, FailurePolicy::local)});
  const Decision first = check("counts denies");
  EXPECT_TRUE(first.allowed);
  EXPECT_FALSE(first.rules[0].allowed);
  EXPECT_EQ(left("counts"), 4);
}

TEST_F(FailurePoliciesTest, AllowAndDegradeCountNothingAndHoldBackNothing) {
  load({make_rule("allows", 1, FailurePolicy::allow), make_rule("degrades", 1, FailurePolicy::degrade),
        make_rule("counts", 3, FailurePolicy::local)});
  EXPECT_EQ(left("allows degrades counts"), 3);
  EXPECT_EQ(left("allows degrades"), 100);
}

TEST_F(FailurePoliciesTest, ARuleCanHaveAnotherPolicyForAnOutageThatLasts) {
  Rule rule = make_rule("a", 5, FailurePolicy::allow);
  rule.on_store_failure = OnStoreFailure(FailurePolicy::allow, 5min, FailurePolicy::static_limit);
  load({rule, make_rule("b", 5, FailurePolicy::allow)});
  EXPECT_EQ(left("a"), 100);
  clock_->advance(5min - 1us);
  EXPECT_EQ(left("a"), 100);
  clock_->advance(1us);
  EXPECT_EQ(left("a"), 5) << "five minutes without an answer";
  EXPECT_EQ(left("b"), 100) << "each rule by itself";
  EXPECT_EQ(engine_->fallbacks(FailurePolicy::static_limit), 6u);

  store_->away = false;
  check("a");
  store_->away = true;
  EXPECT_FALSE(check("a").allowed) << "one answer is not a store that is back";
  store_->away = false;
  clock_->advance(FallbackTimes::kSettled);
  EXPECT_TRUE(check("a").allowed);
  store_->away = true;
  EXPECT_EQ(left("a"), 100) << "the next outage begins with the first policy";
}

TEST_F(FailurePoliciesTest, TheSecondPolicyCanDenyAndCanBeTheFirstOfAnotherRule) {
  Rule careful = make_rule("careful", 5, FailurePolicy::allow);
  careful.on_store_failure = OnStoreFailure(FailurePolicy::local, 1s, FailurePolicy::deny);
  load({careful});
  EXPECT_EQ(left("careful"), 5);
  clock_->advance(1s);
  EXPECT_EQ(check("careful").reason, Reason::store_unavailable);
  clock_->advance(1h);
  EXPECT_TRUE(check("careful").allowed) << "after an hour without a failure it is another outage";
}

TEST_F(FailurePoliciesTest, ARuleWithoutAPolicyAllows) {
  Rule rule = make_rule("a", 5, FailurePolicy::deny);
  rule.on_store_failure.reset();
  load({rule});
  EXPECT_EQ(left("a"), 100);
  EXPECT_EQ(engine_->fallbacks(FailurePolicy::allow), 100u);
}

TEST_F(FailurePoliciesTest, ARefundGivesBackLocallyAlsoBesideARuleThatDenies) {
  load({make_rule("counts", 2, FailurePolicy::local), make_rule("denies", 5, FailurePolicy::deny)});
  EXPECT_EQ(left("counts"), 2);
  refund("counts denies");
  EXPECT_EQ(left("counts"), 1);
}

TEST_F(FailurePoliciesTest, EveryTakeIsCountedByPolicyAndNothingElseIs) {
  load({make_rule("counts", 1, FailurePolicy::local), make_rule("denies", 5, FailurePolicy::deny),
        make_rule("fixed", 5, FailurePolicy::static_limit)});
  check("counts denies");
  check("counts fixed");
  refund("counts");
  EXPECT_EQ(engine_->fallbacks(FailurePolicy::local), 2u);
  EXPECT_EQ(engine_->fallbacks(FailurePolicy::deny), 1u);
  EXPECT_EQ(engine_->fallbacks(FailurePolicy::static_limit), 1u);
  EXPECT_EQ(engine_->fallbacks(FailurePolicy::allow), 0u);
}

TEST_F(FailurePoliciesTest, StaticIsOneBucketForAllSubjectsOfTheRuleAndLocalIsNot) {
  Rule fixed = make_rule("fixed", 100, FailurePolicy::static_limit);
  fixed.static_limit = 3;
  load({fixed, make_rule("counts", 3, FailurePolicy::local)});
  const auto ask = [&](const char* rule, const char* tenant) {
    return engine_->check({{"rules", rule}, {"tenant", tenant}}).allowed;
  };
  for (const char* tenant : {"a", "b", "c"}) EXPECT_TRUE(ask("fixed", tenant));
  EXPECT_FALSE(ask("fixed", "d"));
  for (const char* tenant : {"a", "b", "c", "d"}) EXPECT_TRUE(ask("counts", tenant));
}

TEST(ScaleAllowance, TakesTheShareOfEveryNumberAndAtLeastOneUnit) {
  const auto make = [](AllowanceSpec spec) { return make_allowance(spec).value(); };
  const Allowance bucket = make(
      {.algorithm = Algorithm::token_bucket, .limit = 250, .window = 1min, .burst = 99, .queue = {}, .buckets = {}});
  const Allowance half = scale_allowance(bucket, 50);
  EXPECT_EQ(half.limit, 125);
  EXPECT_EQ(half.burst, 49);
  EXPECT_EQ(half.window, 1min);
  EXPECT_EQ(scale_allowance(bucket, 100).limit, 250);
  EXPECT_EQ(scale_allowance(bucket, 1).limit, 2);
  EXPECT_EQ(scale_allowance(bucket, 1).burst, 1) << "less than one unit would be nothing at all";
  const Allowance queue =
      make({.algorithm = Algorithm::leaky_bucket, .limit = 10, .window = 1s, .burst = {}, .queue = 9, .buckets = {}});
  EXPECT_EQ(scale_allowance(queue, 50).queue, 4);
  EXPECT_EQ(scale_allowance(queue, 10).queue, 0) << "a queue may be empty";
  const Allowance window = make(
      {.algorithm = Algorithm::bucketed_window, .limit = 10, .window = 1min, .burst = {}, .queue = {}, .buckets = 6});
  EXPECT_EQ(scale_allowance(window, 50).buckets, 6);
  EXPECT_EQ(scale_allowance(window, 50).limit, 5);
}

}  // namespace
}  // namespace weir::engine
