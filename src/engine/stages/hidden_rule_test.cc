// Hidden rules: an answer does not show which rule decided, while the observer sees everything.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

struct Watcher final : Observer {
  void on_decision(const Decision& decision) override { last = decision; }
  Decision last;
};

// A memory store that can be away, and that says so whether it answers at once or claims to answer later.
class LoginStore final : public Store {
 public:
  explicit LoginStore(bool immediate) : immediate_(immediate) {}
  bool begin(StoreCall& call) override {
    if (!away) return memory_.begin(call);
    call.status = Code::unavailable;
    return true;
  }
  bool immediate() const override { return immediate_; }
  std::string_view name() const override { return "store"; }

  bool away = false;

 private:
  const bool immediate_;
  memory::MemoryStore memory_;
};

Rule rule_of(std::string id, std::string per, std::int64_t limit, Hidden hidden = Hidden::answer) {
  Rule rule;
  rule.id = std::move(id);
  rule.per = {std::move(per)};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 1h};
  rule.hidden = hidden;
  return rule;
}

// True: the store answers before begin() returns.
class HiddenRule : public ::testing::TestWithParam<bool> {
 protected:
  Engine& engine_with(const std::vector<Rule>& rules) {
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace({.rules = rules}).ok());
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = {4};
    options.observers = {watcher_};
    engine_ = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
    return *engine_;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<LoginStore> store_ = std::make_shared<LoginStore>(GetParam());
  std::shared_ptr<Watcher> watcher_ = std::make_shared<Watcher>();
  std::unique_ptr<Engine> engine_;
};

void expect_tells_no_rule(const Decision& decision) {
  EXPECT_TRUE(decision.rules.empty());
  EXPECT_EQ(decision.decisive(), nullptr);
  EXPECT_EQ(decision.source, "store");
  EXPECT_EQ(decision.cost, 1);
}

TEST_P(HiddenRule, DenialsLookAlikeWhicheverRuleDenied) {
  Engine& engine =
      engine_with({rule_of("account", "account", 1), rule_of("ip", "ip", 2), rule_of("open", "ip", 9, Hidden::no)});
  const Decision allowed = engine.check({{"account", "alice"}, {"ip", "1"}});
  EXPECT_TRUE(allowed.allowed);
  EXPECT_EQ(allowed.reason, Reason::ok);
  expect_tells_no_rule(allowed);

  const Decision by_account = engine.check({{"account", "alice"}, {"ip", "2"}});
  EXPECT_EQ(watcher_->last.decisive()->rule, "account");
  EXPECT_TRUE(engine.check({{"account", "bob"}, {"ip", "1"}}).allowed);
  const Decision by_ip = engine.check({{"account", "carol"}, {"ip", "1"}});
  EXPECT_EQ(watcher_->last.decisive()->rule, "ip");
  for (const Decision& denied : {by_account, by_ip}) {
    EXPECT_FALSE(denied.allowed);
    EXPECT_EQ(denied.reason, Reason::limit_exceeded);
    EXPECT_GT(denied.retry_after, 0us);
    expect_tells_no_rule(denied);
  }
  EXPECT_EQ(by_account.retry_after, by_ip.retry_after) << "one window";
}

// With a store that answers later, the second denial is the prefilter's.
TEST_P(HiddenRule, NeitherDoesADenialWithoutTheStore) {
  Engine& engine = engine_with({rule_of("account", "account", 1)});
  EXPECT_TRUE(engine.check({{"account", "alice"}}).allowed);
  for (int i = 0; i < 3; ++i) {
    const Decision denied = engine.check({{"account", "alice"}});
    EXPECT_FALSE(denied.allowed);
    expect_tells_no_rule(denied);
  }
}

TEST_P(HiddenRule, NeitherDoRefundsAndFailures) {
  Rule strict = rule_of("account", "account", 1);
  strict.on_store_failure = FailurePolicy::deny;
  Engine& engine = engine_with({strict});
  EXPECT_TRUE(engine.refund({{"account", "alice"}}).rules.empty());
  store_->away = true;
  const Decision failed = engine.check({{"account", "bob"}});
  EXPECT_EQ(failed.reason, Reason::store_unavailable);
  EXPECT_TRUE(failed.degraded);
  EXPECT_TRUE(failed.rules.empty());
}

TEST_P(HiddenRule, RequestsThatNoHiddenRuleAppliesToGetEveryDetail) {
  Engine& engine = engine_with({rule_of("account", "account", 1), rule_of("open", "ip", 9, Hidden::no)});
  const Decision decision = engine.check({{"ip", "1"}});
  ASSERT_EQ(decision.rules.size(), 1u);
  EXPECT_EQ(decision.decisive()->rule, "open");
}

// A global capacity that clients must not learn about.
TEST_P(HiddenRule, LeavesOutOneRuleAndShowsTheOthers) {
  Engine& engine = engine_with({rule_of("capacity", "service", 2, Hidden::rule), rule_of("own", "ip", 9, Hidden::no)});
  const Decision allowed = engine.check({{"service", "s"}, {"ip", "1"}});
  EXPECT_EQ(watcher_->last.decisive()->rule, "capacity") << "the most restrictive";
  ASSERT_EQ(allowed.rules.size(), 1u);
  ASSERT_NE(allowed.decisive(), nullptr);
  EXPECT_EQ(allowed.decisive()->rule, "own");
  EXPECT_EQ(allowed.decisive()->remaining, 8);

  EXPECT_TRUE(engine.check({{"service", "s"}, {"ip", "1"}}).allowed);
  for (int i = 0; i < 3; ++i) {  // with a store that answers later, the second denial is the prefilter's
    const Decision denied = engine.check({{"service", "s"}, {"ip", "1"}});
    EXPECT_FALSE(denied.allowed);
    EXPECT_EQ(denied.reason, Reason::limit_exceeded);
    EXPECT_GT(denied.retry_after, 0us);
    EXPECT_EQ(denied.decisive(), nullptr) << "the rule that is shown has not denied";
    EXPECT_EQ(denied.source, "store");
    EXPECT_EQ(denied.cost, 1);
    for (const RuleOutcome& rule : denied.rules) EXPECT_EQ(rule.rule, "own");
    EXPECT_EQ(watcher_->last.decisive()->rule, "capacity");
  }
}

TEST_P(HiddenRule, ADenialByAnotherRuleNamesThatOne) {
  Rule own = rule_of("own", "ip", 1, Hidden::no);
  own.message = "One per {window}.";
  Engine& engine = engine_with({rule_of("capacity", "service", 9, Hidden::rule), own});
  EXPECT_TRUE(engine.check({{"service", "s"}, {"ip", "1"}}).allowed);
  const Decision denied = engine.check({{"service", "s"}, {"ip", "1"}});
  ASSERT_NE(denied.decisive(), nullptr);
  EXPECT_EQ(denied.decisive()->rule, "own");
  EXPECT_EQ(denial_message(denied), "One per 1 h.");
}

TEST_P(HiddenRule, IfBothDenyTheWaitIsTheLongerOneAndTheRuleTheOneThatIsShown) {
  Rule own = rule_of("own", "ip", 1, Hidden::no);
  own.allowance.window = 1min;
  own.message = "Try again in {wait}.";
  Rule capacity = rule_of("capacity", "service", 1, Hidden::rule);
  capacity.message = "Busy for {wait}.";
  Engine& engine = engine_with({capacity, own});
  EXPECT_TRUE(engine.check({{"service", "s"}, {"ip", "1"}}).allowed);
  const Decision denied = engine.check({{"service", "s"}, {"ip", "1"}});
  EXPECT_GT(denied.retry_after, 1min);
  ASSERT_NE(denied.decisive(), nullptr);
  EXPECT_EQ(denied.decisive()->rule, "own");
  EXPECT_EQ(denial_message(denied).substr(0, 13), "Try again in ");
}

TEST_P(HiddenRule, NoMessageContainsTheLimitOfOneRuleAndTheWaitForAnother) {
  Rule own = rule_of("own", "ip", 1, Hidden::no);
  own.allowance.window = 1min;
  own.message = "At most {limit}. Try again in {wait}.";
  Engine& engine = engine_with({rule_of("capacity", "service", 1, Hidden::rule), own});
  EXPECT_TRUE(engine.check({{"service", "s"}, {"ip", "1"}}).allowed);
  const Decision denied = engine.check({{"service", "s"}, {"ip", "1"}});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denial_message(denied), "");
}

TEST_P(HiddenRule, SaysWhatItsOwnMessageSays) {
  Rule capacity = rule_of("capacity", "service", 1, Hidden::rule);
  capacity.message = "The service is busy. Try again in {wait}.";
  Engine& engine = engine_with({capacity});
  EXPECT_TRUE(engine.check({{"service", "s"}}).allowed);
  const Decision denied = engine.check({{"service", "s"}});
  EXPECT_TRUE(denied.rules.empty());
  EXPECT_TRUE(denial_message(denied).starts_with("The service is busy. Try again in ")) << denial_message(denied);
}

TEST_P(HiddenRule, AnAnswerWithoutRulesHasNoMessageEither) {
  Rule open = rule_of("open", "ip", 1, Hidden::no);
  open.message = "Only the address is limited.";
  Engine& engine = engine_with({rule_of("account", "account", 9), open});
  EXPECT_TRUE(engine.check({{"account", "alice"}, {"ip", "1"}}).allowed);
  const Decision denied = engine.check({{"account", "alice"}, {"ip", "1"}});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denial_message(denied), "");
}

TEST_P(HiddenRule, OperatorsSeeHiddenRules) {
  Engine& engine = engine_with({rule_of("account", "account", 9), rule_of("capacity", "ip", 9, Hidden::rule)});
  const Attribute attributes[] = {{"account", "alice"}, {"ip", "1"}};
  const OperatorView view;
  Request request(attributes);
  request.by_operator = &view;
  const Decision shown = engine.check(request);
  ASSERT_EQ(shown.rules.size(), 2u);
  EXPECT_EQ(shown.rules[0].rule, "account");
  EXPECT_EQ(shown.rules[1].rule, "capacity");
}

TEST_P(HiddenRule, OperatorsResetOnlyTheRulesThatTheyName) {
  Engine& engine = engine_with({rule_of("account", "account", 1), rule_of("address", "ip", 1)});
  const Attribute attributes[] = {{"account", "alice"}, {"ip", "1"}};
  EXPECT_TRUE(engine.check(Request(attributes)).allowed);
  const std::string_view rules[] = {"address"};
  const OperatorView view{.rules = rules};
  Request request(attributes);
  request.by_operator = &view;
  const Decision reset = engine.reset(request);
  ASSERT_EQ(reset.rules.size(), 1u);
  EXPECT_EQ(reset.rules[0].rule, "address");
  EXPECT_TRUE(engine.check({{"ip", "1"}}).allowed);
  EXPECT_FALSE(engine.check({{"account", "alice"}}).allowed);
}

INSTANTIATE_TEST_SUITE_P(Stores, HiddenRule, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "AtOnce" : "Later"; });

}  // namespace
}  // namespace weir::engine
