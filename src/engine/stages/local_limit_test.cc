// Local limits: a cap on this node in front of the store. A model says what an engine with them must answer.
#include "engine/stages/local_limit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "tests/contract/calls.h"
#include "tests/contract/model_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// A memory store that answers at once or claims to answer later, and can be away.
class CountedStore final : public Store {
 public:
  explicit CountedStore(bool immediate) : immediate_(immediate) {}
  bool begin(StoreCall& call) override {
    ++calls;
    if (!away) return memory_.begin(call);
    call.status = Code::unavailable;
    return true;
  }
  bool immediate() const override { return immediate_; }
  std::string_view name() const override { return "counted"; }

  int calls = 0;
  bool away = false;

 private:
  const bool immediate_;
  memory::MemoryStore memory_;
};

Rule rule_of(std::string id, std::string per, std::int64_t limit, Duration window) {
  Rule rule;
  rule.id = std::move(id);
  rule.per = {std::move(per)};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = limit, .window = window};
  return rule;
}

// True: the store answers before begin() returns.
class LocalLimit : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Engine> engine_with(const std::vector<Rule>& rules) {
    auto book = std::make_shared<rules::RuleBook>();
    const Status loaded = book->replace({.rules = rules});
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.failure().message);
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = {4};
    return std::make_unique<Engine>(book, options, fallback_);
  }
  // A thousand an hour in the store, three a second on this node.
  static Rule capped() {
    Rule rule = rule_of("a", "tenant", 1'000, 1h);
    rule.local_limit = weir::LocalLimit{.limit = 3, .window = 1s};
    return rule;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<CountedStore> store_ = std::make_shared<CountedStore>(GetParam());
  std::shared_ptr<Store> fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22});
};

TEST_P(LocalLimit, WhatItRefusesCostsTheStoreNothingAndTheAnswerSaysSo) {
  auto engine = engine_with({capped()});
  for (int i = 0; i < 3; ++i) EXPECT_EQ("counted", engine->check({{"tenant", "acme"}}).source);
  for (int i = 0; i < 100; ++i) {
    const Decision denied = engine->check({{"tenant", "acme"}});
    ASSERT_FALSE(denied.allowed);
    EXPECT_EQ("local", denied.source);
    EXPECT_EQ(Reason::limit_exceeded, denied.reason);
    ASSERT_NE(nullptr, denied.decisive());
    EXPECT_EQ("a", denied.decisive()->rule);
    EXPECT_EQ(1'000, denied.decisive()->limit) << "the rule's own, as in every answer";
    EXPECT_EQ(334ms, std::chrono::ceil<std::chrono::milliseconds>(denied.retry_after));
  }
  EXPECT_EQ(3, store_->calls);
  EXPECT_EQ(100U, engine->local_denials());
  EXPECT_TRUE(engine->check({{"tenant", "other"}}).allowed) << "each subject has its own";
  clock_->advance(334ms);
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
}

TEST_P(LocalLimit, APeekIsAnsweredAsATakeWouldBeAndTakesNothing) {
  auto engine = engine_with({capped()});
  const Attribute attributes[] = {{"tenant", "acme"}};
  Request look(attributes);
  look.peek = true;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(engine->check(look).allowed);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_EQ("local", engine->check(look).source);
  EXPECT_EQ(0U, engine->local_denials());
}

TEST_P(LocalLimit, ARequestThatTheStoreDeniesGivesBack) {
  Rule second = rule_of("b", "user", 1, 1h);
  auto engine = engine_with({capped(), second});
  EXPECT_TRUE(engine->check({{"tenant", "acme"}, {"user", "u"}}).allowed);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ("b", engine->check({{"tenant", "acme"}, {"user", "u"}}).decisive()->rule);
  }
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_EQ("local", engine->check({{"tenant", "acme"}}).source);
}

TEST_P(LocalLimit, SeveralCapsTakeAllOrNoneAndTheLongestWaitDecides) {
  Rule slow = rule_of("slow", "user", 1'000, 1h);
  slow.local_limit = weir::LocalLimit{.limit = 1, .window = 60s};
  auto engine = engine_with({capped(), slow});
  EXPECT_TRUE(engine->check({{"tenant", "acme"}, {"user", "u"}}).allowed);
  for (int i = 0; i < 5; ++i) EXPECT_EQ("slow", engine->check({{"tenant", "acme"}, {"user", "u"}}).decisive()->rule);
  EXPECT_TRUE(engine->check({{"tenant", "acme"}, {"user", "v"}}).allowed);
  EXPECT_TRUE(engine->check({{"tenant", "acme"}, {"user", "w"}}).allowed) << "denials took nothing from the other cap";
  EXPECT_EQ("slow", engine->check({{"tenant", "acme"}, {"user", "u"}}).decisive()->rule)
      << "both deny: the longer wait";
}

// `allow` without a cap admits everything; the cap works without the store.
TEST_P(LocalLimit, AppliesWhileTheStoreIsAwayAndAPolicyAllows) {
  auto engine = engine_with({capped()});
  store_->away = true;
  int admitted = 0;
  for (int i = 0; i < 50; ++i) {
    const Decision decision = engine->check({{"tenant", "acme"}});
    admitted += decision.allowed ? 1 : 0;
    EXPECT_EQ(decision.allowed ? "fallback" : "local", decision.source);
  }
  EXPECT_EQ(3, admitted);
}

TEST_P(LocalLimit, ARequestThatAPolicyDeniesGivesBack) {
  Rule rule = capped();
  rule.on_store_failure = FailurePolicy::deny;
  auto engine = engine_with({rule});
  store_->away = true;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Reason::store_unavailable, engine->check({{"tenant", "acme"}}).reason);
  store_->away = false;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
}

TEST_P(LocalLimit, CountsApartFromTheLocalPolicyOfTheSameRule) {
  Rule rule = rule_of("a", "tenant", 4, 1h);
  rule.on_store_failure = FailurePolicy::local;
  rule.local_share = 50;
  rule.local_limit = weir::LocalLimit{.limit = 3, .window = 1s};
  auto engine = engine_with({rule});
  store_->away = true;
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  const Decision denied = engine->check({{"tenant", "acme"}});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ("fallback", denied.source) << "half of four; the cap has one left";
}

TEST_P(LocalLimit, RefundAndResetReachItToo) {
  auto engine = engine_with({capped()});
  for (int i = 0; i < 3; ++i) engine->check({{"tenant", "acme"}});
  engine->refund({{"tenant", "acme"}});
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_FALSE(engine->check({{"tenant", "acme"}}).allowed);
  engine->reset({{"tenant", "acme"}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
}

TEST_P(LocalLimit, ACostAboveTheCapCanNeverPass) {
  auto engine = engine_with({capped()});
  const Attribute attributes[] = {{"tenant", "acme"}};
  const Decision denied = engine->check(Request(attributes, Cost{4}));
  EXPECT_EQ(Reason::cost_too_large, denied.reason);
  EXPECT_EQ("local", denied.source);
  EXPECT_EQ(0, store_->calls);
}

TEST_P(LocalLimit, OfAShadowRuleDeniesNoRequest) {
  Rule rule = capped();
  rule.mode = Mode::shadow;
  auto engine = engine_with({rule});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_EQ(10, store_->calls);
}

TEST_P(LocalLimit, LoopsOfOneNodeShareIt) {
  auto first = engine_with({capped()});
  auto second = engine_with({capped()});
  EXPECT_TRUE(first->check({{"tenant", "acme"}}).allowed);
  EXPECT_TRUE(second->check({{"tenant", "acme"}}).allowed);
  EXPECT_TRUE(first->check({{"tenant", "acme"}}).allowed);
  EXPECT_EQ("local", second->check({{"tenant", "acme"}}).source);
}

TEST_P(LocalLimit, ANodeWithoutRoomLeavesTheDecisionToTheStore) {
  fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1});
  auto engine = engine_with({capped()});
  const auto full = [&](const std::string& tenant) {
    for (int i = 0; i < 3; ++i) engine->check({{"tenant", tenant}});
    return engine->check({{"tenant", tenant}}).source == "counted";
  };
  int without_room = 0;
  for (int i = 0; i < 20'000; ++i) without_room += full("t" + std::to_string(i)) ? 1 : 0;
  EXPECT_GT(without_room, 0);
}

// The cap's own model beside the store's: who denies, who is asked, what is left afterwards.
TEST_P(LocalLimit, DecidesAsTheModelsOfTheCapAndOfTheStore) {
  const bool held = rc::check("cap and store", [this] {
    const Rule second = rule_of("b", "user", *rc::gen::inRange<std::int64_t>(1, 8), 2s);
    Rule first = rule_of("a", "tenant", *rc::gen::inRange<std::int64_t>(1, 8), 3s);
    first.local_limit = weir::LocalLimit{.limit = *rc::gen::inRange<std::int64_t>(1, 5), .window = 700ms};
    store_ = std::make_shared<CountedStore>(GetParam());
    fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22});
    auto engine = engine_with({first, second});
    const Allowance cap = make_allowance({.algorithm = Algorithm::token_bucket,
                                          .limit = first.local_limit->limit,
                                          .window = first.local_limit->window})
                              .value();
    const Allowance allowances[] = {make_allowance(first.allowance).value(), make_allowance(second.allowance).value()};
    contract::ModelStore model_cap;
    contract::ModelStore model_store;
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        60, rc::gen::pair(rc::gen::inRange(0, 12), rc::gen::inRange(0, 400)));
    for (const auto& [kind, amount] : steps) {
      clock_->advance(std::chrono::milliseconds(amount));
      const std::string tenant = kind % 2 == 0 ? "x" : "y";
      const std::uint64_t who = kind % 2 == 0 ? 1 : 2;
      const std::int64_t cost = kind % 3 + 1;
      const Attribute attributes[] = {{"tenant", tenant}, {"user", "u"}};
      Request request(attributes, Cost{cost});
      request.peek = kind == 10;
      const Action action = request.peek ? Action::peek : kind == 11 ? Action::refund : Action::take;
      contract::OwnedCall by_cap(action, clock_->now(), {contract::charge_of(contract::spread_key(who), cap, cost)});
      contract::OwnedCall by_store(action, clock_->now(),
                                   {contract::charge_of(contract::spread_key(who), allowances[0], cost),
                                    contract::charge_of(contract::spread_key(9), allowances[1], cost)});
      const auto store_admits = [&] {
        RC_ASSERT(model_store.begin(by_store));
        return by_store.results()[0].admitted && by_store.results()[1].admitted;
      };
      const int calls = store_->calls;
      const Decision decision = action == Action::refund ? engine->refund(request) : engine->check(request);
      // The prefilter comes before the cap and takes nothing from it.
      const bool foreknown = decision.source == "prefilter";
      if (!foreknown) RC_ASSERT(model_cap.begin(by_cap));
      const bool capped = !foreknown && !by_cap.results()[0].admitted;
      RC_ASSERT(store_->calls == calls + (capped || foreknown ? 0 : 1));
      RC_ASSERT((decision.source == "local") == capped);
      if (capped) {
        RC_ASSERT(!decision.allowed && decision.retry_after == by_cap.results()[0].retry_after);
        continue;
      }
      RC_ASSERT(decision.allowed == store_admits());
      if (decision.allowed || foreknown || action != Action::take) continue;
      contract::OwnedCall back(Action::refund, clock_->now(), {by_cap.charges[0]});
      RC_ASSERT(model_cap.begin(back));
    }
  });
  EXPECT_TRUE(held);
}

INSTANTIATE_TEST_SUITE_P(Stores, LocalLimit, ::testing::Bool(),
                         [](const auto& immediate) { return immediate.param ? "at_once" : "later"; });

}  // namespace
}  // namespace weir::engine
