// A leased quota that decides alone is taken and spent in one step; beside other charges it is confirmed at the end.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "weir/quotas.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Has `left` units, and notes what it is asked.
class CountingGate final : public QuotaGate {
 public:
  Quick try_take(QuotaCharge& charge, const Reading&) override {
    alone.push_back(charge.alone);
    charge.outcome = {};
    charge.outcome.admitted = charge.cost <= left;
    if (!charge.outcome.admitted) {
      charge.outcome.retry_after = 1h;
      return Quick::denied;
    }
    left -= charge.cost;
    charge.outcome.remaining = left;
    if (!charge.alone || !spends_at_once) charge.taken = this;
    return Quick::done;
  }
  Quick try_peek(QuotaCharge&, const Reading&) override { return Quick::done; }
  void confirm(QuotaCharge& charge) override {
    charge.taken = nullptr;
    ++confirmed;
  }
  void put_back(QuotaCharge& charge) override {
    left += charge.cost;
    charge.taken = nullptr;
    ++returned;
  }
  void reverse(const std::string&) override {}
  void release(const std::string&) override {}
  void admitted_without(const QuotaCharge&) override {}
  void begin(QuotaCall&) override { FAIL() << "nothing has to wait"; }

  std::int64_t left = 3;
  bool spends_at_once = true;
  int confirmed = 0;
  int returned = 0;
  std::vector<bool> alone;
};

Rule monthly_rule() {
  Rule rule;
  rule.id = "exports";
  rule.kind = ChargeKind::quota;
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = {}, .limit = 100, .window = Duration{0}};
  rule.quota.period = PeriodUnit::month;
  return rule;
}

Rule bucket_rule(std::int64_t limit) {
  Rule rule;
  rule.id = "rate";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = limit, .window = 1min};
  return rule;
}

class LoneQuotaTest : public ::testing::Test {
 protected:
  void use(std::vector<Rule> rules) {
    auto book = std::make_shared<rules::RuleBook>();
    const Status loaded = book->replace({.rules = std::move(rules)});
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
    LimiterOptions options;
    options.store = memory_;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {1, 2, 3};
    options.quotas = gate_;
    engine_ = std::make_unique<Engine>(book, options, memory_);
  }
  Decision check() { return engine_->check({{"tenant", "acme"}}); }

  std::shared_ptr<CountingGate> gate_ = std::make_shared<CountingGate>();
  std::shared_ptr<Store> memory_ = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  std::unique_ptr<Engine> engine_;
};

TEST_F(LoneQuotaTest, IsSpentAtOnceAndAnswersAsItsRule) {
  use({monthly_rule()});
  const Decision decision = check();
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(Reason::ok, decision.reason);
  EXPECT_EQ("memory", decision.source);
  ASSERT_EQ(1u, decision.rules.size());
  EXPECT_EQ(ChargeKind::quota, decision.rules[0].kind);
  EXPECT_EQ(2, decision.rules[0].remaining);
  EXPECT_EQ(std::vector<bool>{true}, gate_->alone);
  EXPECT_EQ(0, gate_->confirmed);
}

TEST_F(LoneQuotaTest, IsConfirmedIfTheGateAsksForIt) {
  gate_->spends_at_once = false;
  use({monthly_rule()});
  EXPECT_TRUE(check().allowed);
  EXPECT_EQ(1, gate_->confirmed);
  EXPECT_EQ(2, gate_->left);
}

TEST_F(LoneQuotaTest, DeniesWhenNothingIsLeft) {
  use({monthly_rule()});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(check().allowed);
  const Decision denied = check();
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(Reason::quota_exceeded, denied.reason);
  EXPECT_EQ(Duration(1h), denied.retry_after);
  EXPECT_EQ(0, gate_->left);
}

TEST_F(LoneQuotaTest, BesideABucketItIsConfirmedOnlyIfBothAdmit) {
  use({monthly_rule(), bucket_rule(1)});
  EXPECT_TRUE(check().allowed);
  EXPECT_EQ(1, gate_->confirmed);
  EXPECT_FALSE(check().allowed);
  EXPECT_EQ(1, gate_->confirmed);
  EXPECT_EQ(1, gate_->returned);
  EXPECT_EQ(2, gate_->left);
  EXPECT_EQ((std::vector<bool>{false, false}), gate_->alone);
}

}  // namespace
}  // namespace weir::engine
