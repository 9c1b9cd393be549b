#include "rules/read/rule_summary.h"

#include <gtest/gtest.h>

namespace weir::rules {
namespace {

using namespace std::chrono_literals;

Rule rule_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  Rule rule;
  rule.id = "r";
  rule.allowance = {.algorithm = algorithm, .limit = limit, .window = window};
  return rule;
}

TEST(RuleSummary, TellsTheNumbersAndTheAlgorithm) {
  EXPECT_EQ(rule_summary(rule_of(Algorithm::fixed_window, 100, 60s)), "100 per 1m, fixed-window");
  Rule bucket = rule_of(Algorithm::token_bucket, 100, 1500ms);
  bucket.allowance.burst = 250;
  EXPECT_EQ(rule_summary(bucket), "100 per 1500ms, burst 250, token-bucket");
  Rule leaky = rule_of(Algorithm::leaky_bucket, 5, 1s);
  leaky.allowance.queue = 20;
  EXPECT_EQ(rule_summary(leaky), "5 per 1s, queue 20, leaky-bucket");
  Rule distinct = rule_of(Algorithm::sliding_log, 10, 1h);
  distinct.distinct = "user";
  EXPECT_EQ(rule_summary(distinct), "10 different values of user per 1h, sliding-log");
}

TEST(RuleSummary, TellsWhatASyncedRuleMayAdmitMore) {
  Rule rule = rule_of(Algorithm::token_bucket, 100, 1s);
  rule.consistency = Consistency::leased;
  EXPECT_EQ(rule_summary(rule), "100 per 1s, token-bucket");
  rule.consistency = Consistency::synced;
  EXPECT_EQ(rule_summary(rule), "100 per 1s, token-bucket, synced: up to 5 more");
  rule.allowance.burst = 400;
  EXPECT_EQ(rule_summary(rule), "100 per 1s, burst 400, token-bucket, synced: up to 20 more");
}

TEST(RuleSummary, TellsWhatOtherKindsCount) {
  Rule rule = rule_of(Algorithm::token_bucket, 7, 1s);
  rule.lease = 30s;
  rule.kind = ChargeKind::quota;
  EXPECT_EQ(rule_summary(rule), "7 units, quota");
  rule.kind = ChargeKind::lease;
  EXPECT_EQ(rule_summary(rule), "7 at a time, lease 30s");
  rule.auto_limit = AutoLimit{.min = 2, .max = 9};
  EXPECT_EQ(rule_summary(rule), "2 to 9 at a time, adapting, lease 30s");
  rule.unlimited = true;
  EXPECT_EQ(rule_summary(rule), "unlimited");
}

TEST(RuleSummary, ShowsAWindowAsItIsWritten) {
  for (const auto& [window, text] :
       {std::pair<Duration, const char*>{10ms, "10ms"}, {1s, "1s"}, {90s, "90s"}, {24h, "1d"}, {Duration{1}, "1us"}}) {
    EXPECT_EQ(window_text(window), text);
  }
}

}  // namespace
}  // namespace weir::rules
