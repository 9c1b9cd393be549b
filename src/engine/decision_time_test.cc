// When a decision was made, and so when its waits are over.
#include <gtest/gtest.h>

#include <memory>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Answers when the test calls answer().
class HeldStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    held = &call;
    return false;
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "held"; }
  void answer() {
    EXPECT_TRUE(memory_.begin(*held));
    held->complete();
  }

  StoreCall* held = nullptr;

 private:
  memory::MemoryStore memory_{MemoryOptions{}};
};

class DecisionTimeTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> engine_on(std::shared_ptr<Store> store) {
    Rule rule;
    rule.id = "per-tenant";
    rule.per = {"tenant"};
    rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = 1, .window = 10s};
    Rule open;
    open.id = "open";
    open.per = {"tenant"};
    open.unlimited = true;
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace({.rules = {rule, open}}).ok());
    LimiterOptions options;
    options.store = std::move(store);
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    return std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
};

TEST_F(DecisionTimeTest, WaitsEndOnTheWallClockAlsoAfterItWasSetBack) {
  clock_->set_ahead(1h);
  auto engine = engine_on(std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  const Decision allowed = engine->check({{"tenant", "acme"}});
  EXPECT_EQ(allowed.at, clock_->wall());
  EXPECT_EQ(allowed.retry_at(), std::nullopt);
  EXPECT_EQ(allowed.reset_at(), clock_->wall() + 10s);
  clock_->advance(4s);
  const Decision denied = engine->check({{"tenant", "acme"}});
  EXPECT_EQ(denied.retry_at(), clock_->wall() + 6s);
  EXPECT_EQ(denied.retry_at(denied.rules[0]), clock_->wall() + 6s);
}

TEST_F(DecisionTimeTest, WhatIsNotCountedDoesNotReset) {
  Decision decision;
  decision.at = clock_->wall();
  RuleOutcome rule;
  rule.limit = 5;
  EXPECT_EQ(decision.reset_at(rule), decision.at) << "an unused bucket";
  rule.store_failed = true;
  EXPECT_EQ(decision.reset_at(rule), std::nullopt);
  rule.reset_after = 3s;
  EXPECT_EQ(decision.reset_at(rule), decision.at + 3s) << "a policy that counts";
  rule.store_failed = false;
  rule.limit = 0;
  rule.reset_after = 0s;
  EXPECT_EQ(decision.reset_at(rule), std::nullopt);
}

TEST_F(DecisionTimeTest, WithoutARuleThatCountsThereIsNoResetTime) {
  auto engine = engine_on(std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  const Decision unmatched = engine->check({{"user", "ann"}});
  EXPECT_EQ(unmatched.at, clock_->wall());
  EXPECT_EQ(unmatched.retry_at(), std::nullopt);
  EXPECT_EQ(unmatched.reset_at(), std::nullopt);
  const Decision decided = engine->check({{"tenant", "acme"}});
  ASSERT_EQ(decided.rules.size(), 2U);
  EXPECT_EQ(decided.reset_at(decided.rules[1]), std::nullopt) << "unlimited";
}

TEST_F(DecisionTimeTest, OutOfBoundsRequestsHaveATimeToo) {
  auto engine = engine_on(std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  Request request({{"tenant", "acme"}});
  request.cost.units = -1;
  EXPECT_EQ(engine->check(request).at, clock_->wall());
}

// The store measured its waits when it answered, or before: counted from an earlier moment they would end too early.
TEST_F(DecisionTimeTest, WaitsOfAStoreThatAnswersLaterCountFromItsAnswer) {
  auto store = std::make_shared<HeldStore>();
  auto engine = engine_on(store);
  Decision decided;
  engine->check(Request({{"tenant", "acme"}}), [&](const Decision& decision) { decided = decision; });
  clock_->advance(15ms);
  store->answer();
  EXPECT_EQ(decided.at, clock_->wall());
  EXPECT_EQ(decided.reset_at(), clock_->wall() + 10s);
}

}  // namespace
}  // namespace weir::engine
