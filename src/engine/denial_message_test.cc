// What a rule's `message` becomes in a denial.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

class DenialMessage : public ::testing::Test {
 protected:
  Engine& engine_with(std::string message) {
    rule_.id = "search";
    rule_.per = {"ip"};
    rule_.allowance = {.algorithm = Algorithm::token_bucket, .limit = 30, .window = 60s};
    rule_.plans = {{"trial", {.limit = 0}}, {"small", {.limit = 2, .window = 15min}}};
    rule_.on_store_failure = FailurePolicy::deny;
    rule_.message = std::move(message);
    EXPECT_TRUE(book_->replace({.rules = {rule_}}).ok());
    LimiterOptions options;
    options.store = std::make_shared<memory::MemoryStore>(MemoryOptions{});
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {4};
    engine_ = std::make_unique<Engine>(book_, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
    return *engine_;
  }

  Rule rule_;
  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(DenialMessage, HasTheNumbersThatAppliedToTheRequest) {
  Engine& engine = engine_with("No more than {limit} per {window}. Try again in {wait}.");
  const Decision allowed = engine.check(Request({{"ip", "1"}}, Cost{30}));
  EXPECT_TRUE(allowed.message.empty());
  EXPECT_EQ(denial_message(allowed), "");
  EXPECT_EQ(denial_message(engine.check({{"ip", "1"}})), "No more than 30 per 60 s. Try again in 2 s.");
  EXPECT_TRUE(engine.check(Request({{"ip", "2"}, {"plan", "small"}}, Cost{2})).allowed);
  EXPECT_EQ(denial_message(engine.check({{"ip", "2"}, {"plan", "small"}})),
            "No more than 2 per 15 min. Try again in 7 min 30 s.");
}

TEST_F(DenialMessage, IsNotUsedWhereItWouldNotBeTrue) {
  Engine& engine = engine_with("Try again in {wait}.");
  EXPECT_EQ(denial_message(engine.check(Request({{"ip", "1"}}, Cost{31}))), "") << "the cost never fits";
  EXPECT_EQ(denial_message(engine.check({{"ip", "1"}, {"plan", "trial"}})), "") << "no wait helps";
}

TEST_F(DenialMessage, WithoutAWaitFitsALimitOfZero) {
  Engine& engine = engine_with("Searching is not part of your plan.");
  EXPECT_EQ(denial_message(engine.check({{"ip", "1"}, {"plan", "trial"}})), "Searching is not part of your plan.");
}

TEST_F(DenialMessage, OfAPenaltyHasThePenaltysWait) {
  rule_.penalty = Penalty{.after = 2, .within = 10min, .block = 5min, .factor = 2, .max = 1h, .decay = 1h};
  Engine& engine = engine_with("No more than {limit} per {window}. Try again in {wait}.");
  EXPECT_TRUE(engine.check(Request({{"ip", "1"}}, Cost{30})).allowed);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(engine.check({{"ip", "1"}}).allowed);
  const Decision penalized = engine.check({{"ip", "1"}});
  EXPECT_EQ(penalized.reason, Reason::penalized);
  EXPECT_EQ(denial_message(penalized), "No more than 30 per 60 s. Try again in 5 min.");
}

TEST_F(DenialMessage, OfAChallengeIsTheRulesOwn) {
  rule_.on_exceed = OnExceed::challenge;
  Engine& engine = engine_with("Solve the puzzle, or try again in {wait}.");
  EXPECT_TRUE(engine.check(Request({{"ip", "1"}}, Cost{30})).allowed);
  const Decision challenged = engine.check({{"ip", "1"}});
  EXPECT_EQ(challenged.reason, Reason::challenge);
  EXPECT_EQ(denial_message(challenged), "Solve the puzzle, or try again in 2 s.");
}

TEST_F(DenialMessage, StaysValidAfterAReload) {
  Engine& engine = engine_with("The first text, which is longer than a short string.");
  EXPECT_TRUE(engine.check(Request({{"ip", "1"}}, Cost{30})).allowed);
  const Decision denied = engine.check({{"ip", "1"}});
  for (int i = 0; i < 3; ++i) {
    rule_.message = "Another text, as long as the first one was " + std::to_string(i);
    ASSERT_TRUE(book_->replace({.rules = {rule_}}).ok());
    EXPECT_EQ(denial_message(engine.check({{"ip", "1"}})), rule_.message);
  }
  EXPECT_EQ(denial_message(denied), "The first text, which is longer than a short string.");
}

}  // namespace
}  // namespace weir::engine
