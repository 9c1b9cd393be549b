// The prefilter never refuses what the store would have admitted: two engines, one with it and one without, are
// asked the same at the same moments and must agree.
#include "engine/stages/prefilter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

// A memory store that claims to answer later, as a store on the network does, and goes by the request's own time if it
// has one.
class RemoteStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    ++calls;
    if (call.ingress != TimePoint{}) call.now = call.ingress;
    return memory_.begin(call);
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "remote"; }

  int calls = 0;

 private:
  memory::MemoryStore memory_;
};

struct Node {
  Node(const Rules& rules, std::shared_ptr<Clock> clock, bool prefilter) {
    auto book = std::make_shared<rules::RuleBook>();
    RC_ASSERT(book->replace(rules).ok());
    LimiterOptions options;
    options.store = store;
    options.clock = std::move(clock);
    options.hash_key = {7};
    options.prefilter = prefilter;
    engine = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }
  std::shared_ptr<RemoteStore> store = std::make_shared<RemoteStore>();
  std::unique_ptr<Engine> engine;
};

Rule any_rule(Algorithm algorithm) {
  Rule rule;
  rule.id = "a";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = algorithm,
                    .limit = *rc::gen::inRange<std::int64_t>(1, 6),
                    .window = Duration{*rc::gen::element<std::int64_t>(10'000, 700'000, 5'000'000)}};
  if (algorithm == Algorithm::bucketed_window) rule.allowance.buckets = 10;
  rule.count_denied = *rc::gen::weightedElement<bool>({{4, false}, {1, true}});
  return rule;
}

void compare_with_and_without(Algorithm algorithm, bool gateways_tell_the_time) {
  auto clock = std::make_shared<ManualClock>();
  const Rules rules{.rules = {any_rule(algorithm)}};
  Node with(rules, clock, true);
  Node without(rules, clock, false);
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      40, rc::gen::pair(rc::gen::inRange(0, 10), rc::gen::inRange(0, 1'000)));
  for (const auto& [kind, amount] : steps) {
    clock->advance(Duration{kind < 5 ? amount : amount * 1'000});
    const Attribute attributes[] = {{"tenant", kind % 2 == 0 ? "x" : "y"}};
    Request asked(attributes, Cost{kind % 3 + 1});
    if (gateways_tell_the_time && kind % 4 != 0) {
      asked.ingress = clock->wall() + Duration{*rc::gen::inRange<std::int64_t>(-2'000'000, 2'000'000)};
    }
    if (kind == 9) {
      with.engine->refund(asked);
      without.engine->refund(asked);
      continue;
    }
    const Decision a = with.engine->check(asked);
    const Decision b = without.engine->check(asked);
    RC_ASSERT(a.allowed == b.allowed);
    RC_ASSERT(a.reason == b.reason);
    // A denial that counted at a later time may have made the wait of an earlier one longer.
    RC_ASSERT(a.retry_after <= b.retry_after);
    if (gateways_tell_the_time && rules.rules[0].count_denied) continue;
    RC_ASSERT(a.retry_after == b.retry_after);
    RC_ASSERT(a.rules[0].reset_after == b.rules[0].reset_after);
  }
  RC_ASSERT(with.store->calls <= without.store->calls);
}

class PrefilterTest : public ::testing::TestWithParam<Algorithm> {};

TEST_P(PrefilterTest, DecidesAsTheStoreWouldHave) {
  const bool held = rc::check("with and without agree", [] { compare_with_and_without(GetParam(), false); });
  EXPECT_TRUE(held);
}

TEST_P(PrefilterTest, DecidesAsTheStoreWouldHaveByTheTimesOfGateways) {
  const bool held = rc::check("with and without agree", [] { compare_with_and_without(GetParam(), true); });
  EXPECT_TRUE(held);
}

INSTANTIATE_TEST_SUITE_P(Every, PrefilterTest,
                         ::testing::Values(Algorithm::fixed_window, Algorithm::bucketed_window, Algorithm::sliding_log,
                                           Algorithm::sliding_counter, Algorithm::token_bucket, Algorithm::gcra,
                                           Algorithm::leaky_bucket),
                         [](const auto& param) {
                           std::string name(algorithm_name(param.param));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

// Two rules, the second for some of the requests, both with buckets that others use as well.
void compare_several_rules(Algorithm algorithm) {
  auto clock = std::make_shared<ManualClock>();
  Rule first = any_rule(algorithm);
  Rule second = any_rule(*rc::gen::element(Algorithm::fixed_window, Algorithm::token_bucket, Algorithm::sliding_log));
  first.on_exceed = *rc::gen::element(OnExceed::deny, OnExceed::challenge);
  second.id = "b";
  second.match = {{"o", {"1"}}};
  second.mode = *rc::gen::weightedElement<Mode>({{4, Mode::enforce}, {1, Mode::shadow}});
  const Rules rules{.rules = {first, second}};
  Node with(rules, clock, true);
  Node without(rules, clock, false);
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      60, rc::gen::pair(rc::gen::inRange(0, 24), rc::gen::inRange(0, 1'000)));
  for (const auto& [kind, amount] : steps) {
    clock->advance(Duration{kind < 16 ? amount : amount * 1'000});
    const Attribute attributes[] = {{"tenant", kind % 3 == 0 ? "y" : "x"}, {"o", kind % 2 == 0 ? "1" : "0"}};
    const Request asked(attributes, Cost{kind % 5 == 0 ? 2 : 1});
    if (kind == 23) {
      with.engine->refund(asked);
      without.engine->refund(asked);
      continue;
    }
    const Decision a = with.engine->check(asked);
    const Decision b = without.engine->check(asked);
    RC_ASSERT(a.allowed == b.allowed);
    RC_ASSERT(a.reason == b.reason);
    RC_ASSERT(a.deciding == b.deciding);
    RC_ASSERT(a.retry_after == b.retry_after);
    RC_ASSERT(a.rules.size() == b.rules.size());
    for (std::size_t i = 0; i < a.rules.size(); ++i) {
      RC_ASSERT(a.rules[i].allowed == b.rules[i].allowed);
      RC_ASSERT(a.rules[i].retry_after == b.rules[i].retry_after);
    }
  }
  RC_ASSERT(with.store->calls <= without.store->calls);
}

TEST_P(PrefilterTest, DecidesAsTheStoreWouldHaveWhereSeveralRulesApply) {
  const bool held = rc::check("with and without agree", [] { compare_several_rules(GetParam()); });
  EXPECT_TRUE(held);
}

// How many of 1,000 requests at one moment reach the store, with a limit of 5.
int calls_of_flood(Algorithm algorithm, bool count_denied) {
  auto clock = std::make_shared<ManualClock>();
  Rule rule;
  rule.id = "a";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = algorithm, .limit = 5, .window = std::chrono::hours(1)};
  rule.count_denied = count_denied;
  Node node({.rules = {rule}}, clock, true);
  for (int i = 0; i < 1'000; ++i) node.engine->check({{"tenant", "flood"}});
  EXPECT_EQ(1'000u - static_cast<unsigned>(node.store->calls), node.engine->prefilter_hits());
  return static_cast<int>(node.store->calls);
}

TEST(Prefilter, AFloodOnAnExhaustedKeyCostsTheStoreNothing) {
  EXPECT_EQ(6, calls_of_flood(Algorithm::token_bucket, false));
  EXPECT_EQ(6, calls_of_flood(Algorithm::fixed_window, false));
}

Rule rule_for(std::string id, std::int64_t limit, Duration window, std::string_view option = {}) {
  Rule rule;
  rule.id = std::move(id);
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = window};
  if (!option.empty()) rule.match = {{"o", {std::string(option)}}};
  return rule;
}

// The rule with the longer wait was used up by a request that was admitted, and the other is known to be exhausted.
TEST(Prefilter, KnowingOneOfSeveralRulesIsNotTheAnswer) {
  auto clock = std::make_shared<ManualClock>();
  Node node({.rules = {rule_for("fast", 2, std::chrono::seconds(2)), rule_for("slow", 1, std::chrono::hours(24), "1")}},
            clock, true);
  ASSERT_TRUE(node.engine->check({{"tenant", "x"}, {"o", "1"}}).allowed);
  ASSERT_TRUE(node.engine->check({{"tenant", "x"}, {"o", "0"}}).allowed);
  ASSERT_FALSE(node.engine->check({{"tenant", "x"}, {"o", "0"}}).allowed);
  for (const std::string_view source : {"remote", "prefilter"}) {
    const Decision denied = node.engine->check({{"tenant", "x"}, {"o", "1"}});
    EXPECT_EQ(denied.source, source);
    EXPECT_EQ(denied.decisive()->rule, "slow");
    EXPECT_GT(denied.retry_after, std::chrono::hours(1));
    EXPECT_EQ(denied.rules.size(), 2U) << "all rules of the answer";
  }
}

TEST(Prefilter, AChallengeDoesNotHideTheDenialOfAnotherRule) {
  auto clock = std::make_shared<ManualClock>();
  Rule challenging = rule_for("challenging", 2, std::chrono::hours(1));
  challenging.on_exceed = OnExceed::challenge;
  Node node({.rules = {challenging, rule_for("other", 1, std::chrono::hours(1), "1")}}, clock, true);
  ASSERT_TRUE(node.engine->check({{"tenant", "x"}, {"o", "1"}}).allowed);
  ASSERT_TRUE(node.engine->check({{"tenant", "x"}, {"o", "0"}}).allowed);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(node.engine->check({{"tenant", "x"}, {"o", "0"}}).reason, Reason::challenge);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(node.engine->check({{"tenant", "x"}, {"o", "1"}}).reason, Reason::limit_exceeded);
  }
}

TEST(Prefilter, AFloodUnderSeveralRulesCostsTheStoreNothing) {
  auto clock = std::make_shared<ManualClock>();
  Node node({.rules = {rule_for("own", 5, std::chrono::hours(1)), rule_for("wide", 1'000, std::chrono::hours(1), "1")}},
            clock, true);
  for (int i = 0; i < 1'000; ++i) node.engine->check({{"tenant", "x"}, {"o", "1"}});
  EXPECT_EQ(node.store->calls, 6);
}

// Another request leaves too little in the bucket that had admitted.
TEST(Prefilter, AnAnswerIsNotRepeatedWhenTheOtherBucketHasRunOut) {
  auto clock = std::make_shared<ManualClock>();
  Rule shared = rule_for("shared", 4, std::chrono::hours(24));
  shared.per = {};
  Node node({.rules = {rule_for("own", 2, std::chrono::seconds(1)), shared}}, clock, true);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(node.engine->check({{"tenant", "x"}}).allowed);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(node.engine->check({{"tenant", "x"}}).decisive()->rule, "own");
  EXPECT_EQ(node.store->calls, 3);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(node.engine->check({{"tenant", "y"}}).allowed);
  EXPECT_EQ(node.engine->check({{"tenant", "x"}}).decisive()->rule, "shared");
}

// A gateway whose clock is far ahead must not make the prefilter believe its entries for longer.
TEST(Prefilter, HoldsAnEntryByOurOwnClock) {
  auto clock = std::make_shared<ManualClock>();
  Rule rule;
  rule.id = "a";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = 1, .window = std::chrono::hours(1)};
  Node node({.rules = {rule}}, clock, true);
  const Attribute attributes[] = {{"tenant", "x"}};
  Request early(attributes);
  Request late(attributes);
  late.ingress = clock->wall() + std::chrono::seconds(5);
  node.engine->check(late);
  node.engine->check(late);
  EXPECT_EQ(node.store->calls, 2);
  node.engine->check(early);
  EXPECT_EQ(node.store->calls, 2) << "known to be denied";
  clock->advance(Prefilter::kMaxHold - Duration{1});
  node.engine->check(early);
  EXPECT_EQ(node.store->calls, 2);
  clock->advance(Duration{1});
  node.engine->check(early);
  EXPECT_EQ(node.store->calls, 3);
}

TEST(Prefilter, ADenialThatCountsReachesTheStoreUnlessNothingIsLeftToCount) {
  EXPECT_EQ(1'000, calls_of_flood(Algorithm::token_bucket, true));
  EXPECT_EQ(6, calls_of_flood(Algorithm::fixed_window, true));
}

}  // namespace
}  // namespace weir::engine
