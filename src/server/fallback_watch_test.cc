#include "server/fallback_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/log_file.h"

namespace weir::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class FallbackWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    rule_.id = "search";
    rule_.per = {"ip"};
    rule_.allowance = {.algorithm = Algorithm::gcra, .limit = 10, .window = 1s};
    rule_.on_store_failure = OnStoreFailure(FailurePolicy::allow, 5min, FailurePolicy::deny);
    ASSERT_TRUE(book_->replace({.rules = {rule_}}).ok());
    ordinal_ = book_->current()->rules()[0].name.ordinal;
  }
  std::string health() {
    HealthDetails details(true);
    watch_.add_health(now_, details);
    return details.sections();
  }
  void advance(Duration by) {
    now_ += by;
    watch_.poll(now_);
  }

  TimePoint now_ = from_micros(1'800'000'000'000'000);
  engine::FallbackTimes times_;
  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  ManualClock clock_;
  LogFile log_{clock_};
  FallbackWatch watch_{times_, book_, log_.log()};
  std::uint32_t ordinal_ = 0;
  Rule rule_;
};

TEST_F(FallbackWatchTest, LogsTheBeginningTheNextPolicyAndTheEndOnce) {
  advance(1s);
  EXPECT_EQ(log_.text(), "");
  EXPECT_EQ(health(), "");
  times_.failed(ordinal_, now_, std::chrono::hours(1));
  advance(1s);
  advance(1s);
  EXPECT_THAT(log_.text(), HasSubstr(R"("event":"rule_fallback","msg":)"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("rule":"search","policy":"allow"})"));
  EXPECT_EQ(health(), R"(,"fallback":{"rules":1,"longest_ms":2000})");

  advance(4min);
  times_.failed(ordinal_, now_, std::chrono::hours(1));
  advance(1min);
  EXPECT_THAT(log_.text(), HasSubstr(R"("event":"rule_fallback_policy")"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("policy":"deny","after_s":302})"));
  observe::Facts facts;
  watch_.add_facts(now_, facts);
  ASSERT_EQ(facts.rule_fallbacks.size(), 1u);
  EXPECT_EQ(facts.rule_fallbacks[0].policy, "deny");
  EXPECT_EQ(facts.rule_fallbacks[0].lasted, 302s);

  times_.answered(ordinal_, now_);
  advance(1s);
  advance(1s);
  EXPECT_THAT(log_.text(), HasSubstr(R"("event":"rule_fallback_ended")"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("after_s":303,"decisions":2})"));
  const std::string text = log_.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_EQ(health(), "");
}

TEST_F(FallbackWatchTest, ARuleThatHasNotFailedForLongIsNoLongerOnItsFallback) {
  times_.failed(ordinal_, now_, std::chrono::hours(1));
  advance(1s);
  EXPECT_NE(health(), "");
  advance(5min);
  EXPECT_EQ(health(), "");
  EXPECT_FALSE(times_.any());
  EXPECT_THAT(log_.text(), HasSubstr(R"("event":"rule_fallback_ended")"));
}

TEST_F(FallbackWatchTest, AQuotaWithoutAPolicyIsSaidToDeny) {
  Rule quota;
  quota.id = "monthly";
  quota.per = {"tenant"};
  quota.kind = ChargeKind::quota;
  quota.allowance = {.algorithm = {}, .limit = 10, .window = Duration{0}};
  quota.quota.period = PeriodUnit::month;
  const auto loaded = book_->replace({.rules = {quota}});
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
  times_.failed(book_->current()->rules()[0].name.ordinal, now_, std::chrono::hours(1));
  advance(1s);
  EXPECT_THAT(log_.text(), HasSubstr(R"("rule":"monthly","policy":"deny"})"));
}

TEST_F(FallbackWatchTest, ARuleThatIsNoLongerLoadedIsForgotten) {
  times_.failed(ordinal_, now_, std::chrono::hours(1));
  ASSERT_TRUE(book_->replace({}).ok());
  EXPECT_EQ(health(), "");
  advance(1s);
  EXPECT_FALSE(times_.any());
  EXPECT_EQ(log_.text(), "");
}

TEST_F(FallbackWatchTest, AReloadThatChangesThePolicyIsNotAnOutageThatLasts) {
  times_.failed(ordinal_, now_, std::chrono::hours(1));
  advance(1s);
  rule_.on_store_failure = FailurePolicy::deny;
  ASSERT_TRUE(book_->replace({.rules = {rule_}}).ok());
  advance(1s);
  advance(1s);
  EXPECT_THAT(log_.text(), HasSubstr(R"("event":"rule_fallback_reloaded")"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("rule":"search","policy":"deny"})"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("rule_fallback_policy")));
  const std::string text = log_.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST_F(FallbackWatchTest, ARuleThatIsRemovedDuringAnOutageHasNotEnded) {
  times_.failed(ordinal_, now_, std::chrono::hours(1));
  advance(1s);
  ASSERT_TRUE(book_->replace({}).ok());
  advance(1s);
  EXPECT_THAT(log_.text(), HasSubstr(R"("event":"rule_fallback_removed")"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("after_s":2,"decisions":1})"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("rule_fallback_ended")));
  EXPECT_FALSE(times_.any());
}

}  // namespace
}  // namespace weir::server
