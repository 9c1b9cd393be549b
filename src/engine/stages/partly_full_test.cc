// A store that has room for some buckets of a request and not for others: the rules without room answer by their
// policies, the others are charged as if they had been asked alone, once, and only if everything admits.
#include <gtest/gtest.h>

#include <set>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "tests/contract/calls.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// A memory store without room for the buckets of some rules, as memory_store.h describes it.
class PartlyFullStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    ++calls;
    std::vector<Charge> with_room;
    bool binds = false;
    for (const Charge& charge : call.charges) {
      if (without_room.count(std::string(charge.rule)) == 0)
        with_room.push_back(charge);
      else
        binds = binds || charge.binding;
    }
    const bool charges = !binds || call.action == Action::refund;
    contract::OwnedCall rest(charges ? call.action : Action::peek, call.now, std::move(with_room));
    const bool answered = memory_.begin(rest);
    std::size_t next = 0;
    for (std::size_t i = 0; i < call.charges.size(); ++i) {
      const bool room = without_room.count(std::string(call.charges[i].rule)) == 0;
      call.outcomes[i] =
          room ? rest.results()[next++] : ChargeOutcome{.status = Code::resource_exhausted, .admitted = false};
    }
    return answered;
  }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "memory"; }

  std::set<std::string> without_room;
  int calls = 0;

 private:
  memory::MemoryStore memory_;
};

Rule make_rule(std::string id, std::int64_t limit, FailurePolicy policy = FailurePolicy::allow) {
  Rule rule;
  rule.id = std::move(id);
  rule.match = {{"rules", {"*" + rule.id + "*"}}};
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 1h};
  rule.on_store_failure = policy;
  rule.local_share = 100;
  return rule;
}

class PartlyFull : public ::testing::Test {
 protected:
  void load(std::vector<Rule> rules) {
    const auto book = std::make_shared<rules::RuleBook>();
    ASSERT_TRUE(book->replace({.rules = std::move(rules)}).ok());
    LimiterOptions options;
    options.store = store_;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {1};
    engine_ = std::make_unique<Engine>(book, options, fallback_);
    store_->without_room = {"full"};
  }
  // Asks for the rules whose ids the text names.
  Decision check(std::string_view rules, std::int64_t cost = 1, std::string_view method = "GET") {
    const Attribute attributes[] = {{"rules", rules}, {"tenant", "x"}, {"method", method}};
    return engine_->check(Request(attributes, Cost{cost}));
  }
  // What a rule with room has left.
  std::int64_t left(std::string_view rule, std::string_view method = "GET") {
    const Attribute attributes[] = {{"rules", rule}, {"tenant", "x"}, {"method", method}};
    Request request(attributes);
    request.peek = true;
    return engine_->check(request).rules[0].remaining;
  }

  std::shared_ptr<PartlyFullStore> store_ = std::make_shared<PartlyFullStore>();
  std::shared_ptr<Store> fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22});
  std::unique_ptr<Engine> engine_;
};

TEST_F(PartlyFull, WhatThereIsRoomForIsChargedWhenThePolicyAdmits) {
  for (const bool full_first : {false, true}) {
    store_ = std::make_shared<PartlyFullStore>();
    const Rule full = make_rule("full", 1);
    load(full_first ? std::vector{full, make_rule("roomy", 5), make_rule("wide", 9)}
                    : std::vector{make_rule("roomy", 5), make_rule("wide", 9), full});
    const std::size_t roomy = full_first ? 1 : 0;
    for (int i = 1; i <= 5; ++i) {
      const Decision decision = check("full roomy wide");
      EXPECT_TRUE(decision.allowed);
      EXPECT_TRUE(decision.degraded);
      EXPECT_EQ(decision.source, "fallback");
      EXPECT_EQ(decision.rules[roomy].remaining, 5 - i) << "the answer says what was charged";
      EXPECT_EQ(decision.rules[roomy + 1].remaining, 9 - i);
      EXPECT_FALSE(decision.rules[roomy].store_failed);
      EXPECT_TRUE(decision.rules[full_first ? 0 : 2].store_failed);
    }
    const Decision denied = check("full roomy wide");
    EXPECT_FALSE(denied.allowed);
    EXPECT_EQ(denied.reason, Reason::limit_exceeded);
    EXPECT_EQ(denied.decisive()->rule, "roomy");
    EXPECT_EQ(left("wide"), 4) << "a denial takes nothing from the others";
  }
}

TEST_F(PartlyFull, NothingIsChargedWhenThePolicyDenies) {
  load({make_rule("roomy", 5), make_rule("full", 5, FailurePolicy::deny)});
  for (int i = 0; i < 3; ++i) {
    const Decision decision = check("full roomy");
    EXPECT_FALSE(decision.allowed);
    EXPECT_EQ(decision.reason, Reason::store_unavailable);
    EXPECT_EQ(decision.rules[0].remaining, 5);
  }
  EXPECT_TRUE(check("roomy", 5).allowed);
}

TEST_F(PartlyFull, ALocalCountThatIsUsedUpHoldsBackTheOthers) {
  load({make_rule("roomy", 5), make_rule("full", 2, FailurePolicy::local)});
  EXPECT_TRUE(check("full roomy").allowed);
  EXPECT_TRUE(check("full roomy").allowed);
  EXPECT_EQ(check("full roomy").reason, Reason::limit_exceeded);
  EXPECT_TRUE(check("roomy", 3).allowed) << "two of five are used";
  EXPECT_FALSE(check("roomy").allowed);
}

TEST_F(PartlyFull, AShadowRuleWithoutRoomThatDeniesHoldsBackNothing) {
  Rule shadow = make_rule("full", 5, FailurePolicy::deny);
  shadow.mode = Mode::shadow;
  Rule binding = make_rule("fuller", 5);
  load({make_rule("roomy", 5), shadow, binding});
  store_->without_room = {"full", "fuller"};
  const Decision decision = check("fuller full roomy");
  EXPECT_TRUE(decision.allowed);
  EXPECT_FALSE(decision.rules[1].allowed);
  EXPECT_EQ(decision.rules[0].remaining, 4);
  EXPECT_TRUE(check("roomy", 4).allowed);
  EXPECT_FALSE(check("roomy").allowed) << "charged exactly once";
}

TEST_F(PartlyFull, APeekChargesNothing) {
  load({make_rule("roomy", 5), make_rule("full", 5)});
  const Attribute attributes[] = {{"rules", "full roomy"}, {"tenant", "x"}};
  Request look(attributes);
  look.peek = true;
  EXPECT_TRUE(engine_->check(look).allowed);
  EXPECT_TRUE(check("roomy", 5).allowed);
}

TEST_F(PartlyFull, ARequestThatHasNoRoomAtAllAsksTheStoreOnce) {
  load({make_rule("full", 5), make_rule("fuller", 5)});
  store_->without_room = {"full", "fuller"};
  EXPECT_TRUE(check("full fuller").allowed);
  EXPECT_EQ(store_->calls, 1);
}

// What was admitted counts in the windows of every length, also when it was charged in the second step.
TEST_F(PartlyFull, WindowsOfOtherLengthsCountToo) {
  Rule roomy = make_rule("roomy", 100);
  Override post;
  post.when = {Condition{.attribute = "method", .patterns = {"POST"}}};
  post.change.limit = 10;
  post.change.window = 1min;
  roomy.overrides = {post};
  load({roomy, make_rule("full", 5)});
  EXPECT_TRUE(check("full roomy", 6, "GET").allowed);
  EXPECT_EQ(left("roomy", "POST"), 4) << "6 of 10 are used";
  EXPECT_FALSE(check("roomy", 5, "POST").allowed);
  EXPECT_TRUE(check("full roomy", 4, "POST").allowed);
  EXPECT_EQ(left("roomy", "GET"), 90);
}

}  // namespace
}  // namespace weir::engine
