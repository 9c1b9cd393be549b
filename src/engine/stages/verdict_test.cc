// Which of several rules decides, why, and how long to wait.
#include "engine/stages/verdict.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

Rule make_rule(std::string id, std::int64_t limit, Duration window) {
  Rule rule;
  rule.id = std::move(id);
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = limit, .window = window};
  return rule;
}

// Answers each charge with the entry of `outcomes` at the same index.
class OutcomeStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    for (std::size_t i = 0; i < call.charges.size(); ++i) call.outcomes[i] = outcomes.at(i);
    return true;
  }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "outcomes"; }

  std::vector<ChargeOutcome> outcomes;
};

class VerdictTest : public ::testing::Test {
 protected:
  // One rule for each outcome, named a, b, c …
  Decision decide(std::vector<ChargeOutcome> outcomes) {
    Rules rules;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      rules.rules.push_back(make_rule(std::string(1, static_cast<char>('a' + i)), 100, 60s));
      if (shadow_ == i) rules.rules.back().mode = Mode::shadow;
    }
    const auto store = std::make_shared<OutcomeStore>();
    store->outcomes = std::move(outcomes);
    const auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace(rules).ok());
    LimiterOptions options;
    options.store = store;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {1};
    Engine engine(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22}));
    return engine.check({{"tenant", "x"}});
  }

  static ChargeOutcome admitted(std::int64_t remaining, Duration reset = 1s) {
    ChargeOutcome outcome;
    outcome.remaining = remaining;
    outcome.reset_after = reset;
    return outcome;
  }
  static ChargeOutcome denied(Duration wait) {
    ChargeOutcome outcome;
    outcome.admitted = false;
    outcome.retry_after = wait;
    return outcome;
  }
  static ChargeOutcome too_large() {
    ChargeOutcome outcome;
    outcome.admitted = false;
    outcome.too_large = true;
    return outcome;
  }

  std::size_t shadow_ = 99;  // which rule is in shadow mode
};

TEST_F(VerdictTest, ACostThatNeverFitsTakesPrecedenceOverAnyWait) {
  for (const bool first : {false, true}) {
    std::vector<ChargeOutcome> outcomes = {denied(1h), denied(2h)};
    outcomes.insert(first ? outcomes.begin() : outcomes.end(), too_large());
    const Decision decision = decide(outcomes);
    EXPECT_FALSE(decision.allowed);
    EXPECT_EQ(decision.reason, Reason::cost_too_large);
    EXPECT_EQ(decision.retry_after, 0s) << "no wait can help, so none is named";
    EXPECT_EQ(decision.deciding, first ? 0 : 2);
  }
}

TEST_F(VerdictTest, OfSeveralDenialsTheLongestWaitDecides) {
  for (const auto& [outcomes, deciding] :
       std::vector<std::pair<std::vector<ChargeOutcome>, int>>{{{denied(1s), denied(5s), denied(2s)}, 1},
                                                               {{denied(5s), denied(1s)}, 0},
                                                               {{denied(3s), denied(3s)}, 0},
                                                               {{admitted(0), denied(1s), admitted(0)}, 1}}) {
    const Decision decision = decide(outcomes);
    EXPECT_EQ(decision.deciding, deciding);
    EXPECT_EQ(decision.retry_after, outcomes[static_cast<std::size_t>(deciding)].retry_after);
    EXPECT_EQ(decision.reason, Reason::limit_exceeded);
  }
}

TEST_F(VerdictTest, OfSeveralAdmissionsTheLeastThatIsLeftDecidesThenTheLongestReset) {
  EXPECT_EQ(decide({admitted(5), admitted(3), admitted(4)}).deciding, 1);
  EXPECT_EQ(decide({admitted(5, 1s), admitted(5, 3s), admitted(5, 2s)}).deciding, 1);
  EXPECT_EQ(decide({admitted(5, 3s), admitted(5, 3s)}).deciding, 0);
  EXPECT_EQ(decide({admitted(4, 1s), admitted(5, 9s)}).deciding, 0);
}

TEST_F(VerdictTest, ARuleInShadowModeDecidesNothing) {
  shadow_ = 0;
  const Decision decision = decide({too_large(), admitted(5)});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.deciding, 1);
  EXPECT_EQ(decision.reason, Reason::ok);
  const Decision alone = decide({denied(1s)});
  EXPECT_TRUE(alone.allowed);
  EXPECT_EQ(alone.deciding, -1);
  EXPECT_EQ(alone.delay, 0s);
}

TEST_F(VerdictTest, TheLongestDelayOfTheRulesThatBindIsWaitedAndADenialHasNone) {
  ChargeOutcome slow = admitted(5);
  slow.delay = 3s;
  ChargeOutcome slower = admitted(9);
  slower.delay = 7s;
  EXPECT_EQ(decide({slow, slower}).delay, 7s);
  EXPECT_EQ(decide({slower, slow}).delay, 7s);
  EXPECT_EQ(decide({slower, denied(1s)}).delay, 0s);
  shadow_ = 1;
  EXPECT_EQ(decide({slow, slower}).delay, 3s);
}

// Callers show these numbers to their users: each must be the rule's own, and none another's.
TEST_F(VerdictTest, EachRuleIsDescribedByItsOwnNumbers) {
  Rule queue = make_rule("queue", 7, 30s);
  queue.allowance.algorithm = Algorithm::leaky_bucket;
  queue.allowance.queue = 4;
  queue.mode = Mode::shadow;
  queue.cost = CostModel{.kind = CostModel::Kind::fixed, .units = 3, .attribute = {}, .table = {}};
  Rule bucket = make_rule("bucket", 100, 1h);
  bucket.allowance.burst = 250;
  const auto store = std::make_shared<OutcomeStore>();
  ChargeOutcome waits = admitted(5, 9s);
  waits.delay = 2s;
  store->outcomes = {waits, denied(4s)};
  store->outcomes[1].remaining = 1;
  store->outcomes[1].reset_after = 8s;
  const auto book = std::make_shared<rules::RuleBook>();
  ASSERT_TRUE(book->replace({.rules = {queue, bucket}}).ok());
  LimiterOptions options;
  options.store = store;
  options.clock = std::make_shared<ManualClock>();
  options.hash_key = {1};
  Engine engine(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22}));
  const Attribute attributes[] = {{"tenant", "x"}};
  const Decision decision = engine.check(Request(attributes, Cost{2}));

  ASSERT_EQ(decision.rules.size(), 2U);
  const RuleOutcome& first = decision.rules[0];
  EXPECT_EQ(first.rule, "queue");
  EXPECT_EQ(first.ordinal, 0U);
  EXPECT_EQ(first.mode, Mode::shadow);
  EXPECT_EQ(first.algorithm, Algorithm::leaky_bucket);
  EXPECT_EQ(first.cost, 3);
  EXPECT_EQ(first.limit, 7);
  EXPECT_EQ(first.capacity, 5) << "a queue and one";
  EXPECT_EQ(first.window, 30s);
  EXPECT_EQ(first.remaining, 5);
  EXPECT_EQ(first.reset_after, 9s);
  EXPECT_EQ(first.delay, 2s);
  EXPECT_TRUE(first.allowed);
  EXPECT_FALSE(first.unlimited || first.too_large || first.bad_cost || first.store_failed);
  const RuleOutcome& second = decision.rules[1];
  EXPECT_EQ(second.rule, "bucket");
  EXPECT_EQ(second.ordinal, 1U);
  EXPECT_EQ(second.mode, Mode::enforce);
  EXPECT_EQ(second.algorithm, Algorithm::token_bucket);
  EXPECT_EQ(second.cost, 2);
  EXPECT_EQ(second.limit, 100);
  EXPECT_EQ(second.capacity, 250);
  EXPECT_EQ(second.window, 1h);
  EXPECT_EQ(second.remaining, 1);
  EXPECT_EQ(second.retry_after, 4s);
  EXPECT_EQ(second.reset_after, 8s);
  EXPECT_FALSE(second.allowed);
  EXPECT_NE(first.subject, second.subject);
  EXPECT_EQ(decision.cost, 2) << "of the rule that decides";
}

// End to end, with real buckets.
TEST_F(VerdictTest, ARequestThatNeverFitsOneRuleIsNotToldToWaitForAnother) {
  const auto book = std::make_shared<rules::RuleBook>();
  ASSERT_TRUE(book->replace({.rules = {make_rule("empty", 100, 1h), make_rule("small", 5, 1h)}}).ok());
  LimiterOptions options;
  options.store = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  options.clock = std::make_shared<ManualClock>();
  options.hash_key = {1};
  Engine engine(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22}));
  const Attribute attributes[] = {{"tenant", "x"}};
  ASSERT_TRUE(engine.check(Request(attributes, Cost{5})).allowed);
  const Decision decision = engine.check(Request(attributes, Cost{99}));
  EXPECT_EQ(decision.reason, Reason::cost_too_large);
  EXPECT_EQ(decision.decisive()->rule, "small");
  EXPECT_EQ(decision.retry_after, 0s);
  EXPECT_GT(decision.rules[0].retry_after, 0s) << "the other rule has a wait of its own";
}

}  // namespace
}  // namespace weir::engine
