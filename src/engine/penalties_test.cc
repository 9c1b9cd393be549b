// Penalties, challenges and reports as callers see them.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "weir/prepared_check.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Answers as the memory store does, but says that it may answer later, so that the prefilter is used.
class SlowStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    ++calls;
    return memory_.begin(call);
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "slow"; }

  int calls = 0;

 private:
  memory::MemoryStore memory_;
};

Rule login_rule() {
  Rule rule;
  rule.id = "login-account";
  rule.match = {{"action", {"login"}}};
  rule.per = {"account"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = 2, .window = 10s};
  rule.penalty = Penalty{.after = 3, .within = 10min, .block = 30s, .factor = 2, .max = 100s, .decay = 1h};
  return rule;
}

class PenaltiesTest : public ::testing::Test {
 protected:
  void use(std::vector<Rule> rules, const std::shared_ptr<Store>& store = nullptr) {
    auto book = std::make_shared<rules::RuleBook>();
    const Status loaded = book->replace({.rules = std::move(rules)});
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
    LimiterOptions options;
    options.store = store != nullptr ? store : memory_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    engine_ = std::make_unique<Engine>(book, options, memory_);
  }
  Decision login(std::string_view account = "ann") {
    return engine_->check({{"action", "login"}, {"account", account}});
  }
  Decision report(bool success) { return engine_->report({{"action", "login"}, {"account", "ann"}}, success); }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<Store> memory_ = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  std::unique_ptr<Engine> engine_;
};

TEST_F(PenaltiesTest, RepeatedDenialsBecomeAPenaltyWithTheHonestWait) {
  use({login_rule()});
  for (int i = 0; i < 4; ++i) static_cast<void>(login());
  const Decision penalized = login();
  EXPECT_FALSE(penalized.allowed);
  EXPECT_EQ(Reason::penalized, penalized.reason);
  EXPECT_EQ(Duration(30s), penalized.retry_after);
  ASSERT_EQ(1u, penalized.rules.size()) << "the penalty itself is no rule";
  EXPECT_TRUE(penalized.rules[0].penalized);
  EXPECT_TRUE(login("bob").allowed);
  clock_->advance(30s - 1us);
  EXPECT_FALSE(login().allowed);
  clock_->advance(1us);
  EXPECT_TRUE(login().allowed);
}

TEST_F(PenaltiesTest, ReportsBeginAndForgetStrikes) {
  use({login_rule()});
  static_cast<void>(report(false));
  static_cast<void>(report(false));
  static_cast<void>(report(true));
  static_cast<void>(report(false));
  EXPECT_TRUE(report(false).allowed);
  EXPECT_EQ(Reason::penalized, report(false).reason);
  EXPECT_EQ(Reason::penalized, login().reason);
}

TEST_F(PenaltiesTest, ARuleThatAsksForAChallengeIsClearedByAReportedSuccess) {
  Rule rule = login_rule();
  rule.penalty.reset();
  rule.on_exceed = OnExceed::challenge;
  use({rule});
  static_cast<void>(login());
  static_cast<void>(login());
  const Decision challenged = login();
  EXPECT_FALSE(challenged.allowed);
  EXPECT_EQ(Reason::challenge, challenged.reason);
  EXPECT_TRUE(challenged.rules[0].challenge);
  static_cast<void>(report(false));
  EXPECT_EQ(Reason::challenge, login().reason);
  EXPECT_EQ(2, report(true).rules[0].remaining);
  EXPECT_TRUE(login().allowed);
}

TEST_F(PenaltiesTest, ADenialThatNoChallengeHelpsComesFirst) {
  Rule soft = login_rule();
  soft.penalty.reset();
  soft.on_exceed = OnExceed::challenge;
  Rule hard = login_rule();
  hard.id = "hard";
  hard.penalty.reset();
  hard.allowance.window = 5s;
  use({soft, hard});
  static_cast<void>(login());
  static_cast<void>(login());
  const Decision denied = login();
  EXPECT_EQ(Reason::limit_exceeded, denied.reason);
  EXPECT_EQ("hard", denied.decisive()->rule);
}

TEST_F(PenaltiesTest, APreparedCheckIsChallengedAndClearedLikeAnyOther) {
  Rule rule = login_rule();
  rule.penalty->after = 1;
  rule.penalty->challenges = 1;
  use({rule});
  const auto prepared = engine_->prepare({{"action", "login"}, {"account", "ann"}});
  EXPECT_TRUE(prepared->check().allowed);
  EXPECT_TRUE(prepared->check().allowed);
  EXPECT_EQ(Reason::challenge, prepared->check().reason);
  static_cast<void>(report(true));
  clock_->advance(10s);
  EXPECT_TRUE(prepared->check().allowed);
}

TEST_F(PenaltiesTest, AnExhaustedBucketIsPrefilteredOnlyWhilePenalized) {
  const auto slow = std::make_shared<SlowStore>();
  use({login_rule()}, slow);
  for (int i = 0; i < 4; ++i) static_cast<void>(login());
  EXPECT_EQ(4, slow->calls) << "each denial is a strike, and must be counted";
  EXPECT_EQ(Reason::penalized, login().reason);
  EXPECT_EQ(5, slow->calls);
  const Decision prefiltered = login();
  EXPECT_EQ(Reason::penalized, prefiltered.reason);
  EXPECT_EQ("prefilter", prefiltered.source);
  EXPECT_EQ(Duration(30s), prefiltered.retry_after);
  EXPECT_EQ(5, slow->calls);
}

TEST_F(PenaltiesTest, AReportedSuccessReachesThePrefilter) {
  Rule rule = login_rule();
  rule.penalty->challenges = 5;
  const auto slow = std::make_shared<SlowStore>();
  use({rule}, slow);
  for (int i = 0; i < 6; ++i) static_cast<void>(login());
  EXPECT_EQ(Reason::challenge, login().reason);
  static_cast<void>(report(true));
  EXPECT_EQ(Reason::limit_exceeded, login().reason) << "the bucket is exhausted still, the challenge is over";
}

TEST_F(PenaltiesTest, AGroupThatIsChargedTogetherKeepsEachRulesOwnPenalty) {
  Rule address = login_rule();
  address.id = "login-address";
  address.per = {"ip"};
  address.penalty.reset();
  use({address, login_rule()});
  const Attribute first[] = {{"action", "login"}, {"account", "ann"}, {"ip", "192.0.2.1"}};
  const Attribute second[] = {{"action", "login"}, {"account", "bob"}, {"ip", "192.0.2.2"}};
  const Request requests[] = {Request(first), Request(second)};
  const auto together = [&] {
    struct Call final : GroupCall {
      GroupCall& defer() override { return *this; }
      void complete() override {}
    } call;
    std::vector<Decision> decisions(2);
    call.requests = requests;
    call.decisions = decisions;
    call.all_or_none = true;
    EXPECT_TRUE(engine_->begin_group(call));
    return decisions;
  };
  for (int i = 0; i < 4; ++i) static_cast<void>(together());
  const std::vector<Decision> decisions = together();
  EXPECT_EQ(Reason::penalized, decisions[0].reason);
  EXPECT_EQ(Reason::penalized, decisions[1].reason);
}

TEST_F(PenaltiesTest, AResetForgetsThePenalty) {
  use({login_rule()});
  for (int i = 0; i < 5; ++i) static_cast<void>(login());
  static_cast<void>(engine_->reset({{"action", "login"}, {"account", "ann"}}));
  EXPECT_TRUE(login().allowed);
}

// Notes the keys that it is asked to charge.
class KeyStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    for (const Charge& charge : call.charges) keys.push_back(charge.key);
    return memory_.begin(call);
  }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "keys"; }

  std::vector<BucketKey> keys;

 private:
  memory::MemoryStore memory_;
};

// The memory store finds a bucket's shard in the first ten bits of its key, and its place there in the lower half.
TEST_F(PenaltiesTest, PenaltyAndCandidateAreKeptBesideTheirBucket) {
  const auto store = std::make_shared<KeyStore>();
  Rule rule = login_rule();
  rule.candidate = AllowanceChange{.limit = 1};
  use({rule}, store);
  static_cast<void>(login());
  ASSERT_EQ(3u, store->keys.size());
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_NE(store->keys[0].high, store->keys[i].high);
    EXPECT_EQ(store->keys[0].high >> 54, store->keys[i].high >> 54);
    EXPECT_EQ(store->keys[0].low, store->keys[i].low);
  }
}

}  // namespace
}  // namespace weir::engine
