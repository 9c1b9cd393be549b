#include "admin/rule_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::admin {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;

Rule search_rule() {
  Rule rule;
  rule.id = "search";
  rule.match = {{"action", {"search"}}, {"api_key", {std::string(kAbsent)}}, {"method", {"GET", "HEAD"}}};
  rule.per = {"tenant", "ip"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = 120, .window = seconds(60), .burst = 200};
  return rule;
}

rules::CompiledRule compiled(Rule rule) {
  rules::CompiledRule made;
  made.mode = rule.mode;
  made.source = std::move(rule);
  return made;
}

TEST(RuleText, ASummaryHasTheNumbersAndTheSubject) {
  Rule rule = search_rule();
  EXPECT_EQ(summary_of(rule), "120 per 60 s, burst 200, per tenant and ip");
  rule.allowance.burst = 120;
  rule.per = {"tenant", "user", "ip"};
  EXPECT_EQ(summary_of(rule), "120 per 60 s, per tenant, user and ip");
  rule.unlimited = true;
  rule.per.clear();
  EXPECT_EQ(summary_of(rule), "unlimited");
  Rule slots;
  slots.kind = ChargeKind::lease;
  slots.allowance.limit = 3;
  EXPECT_EQ(summary_of(slots), "3 at a time");
  EXPECT_EQ(algorithm_of(slots), "concurrency");
  Rule exports;
  exports.kind = ChargeKind::quota;
  exports.allowance.limit = 1'000;
  exports.quota.period = PeriodUnit::month;
  exports.per = {"tenant"};
  EXPECT_EQ(summary_of(exports), "1000 per month, per tenant");
}

TEST(RuleText, AnExplanationSaysWhatIsCountedAllowedAndDoneWithoutTheStore) {
  Rule rule = search_rule();
  rule.plans = {{"free", {.limit = 10}}, {"gold", {.unlimited = true}}};
  rule.overrides.push_back(
      {.when = {{"tenant", {"acme"}}}, .change = {.limit = 500}, .emergency = true, .until = {}, .reason = "launch"});
  rule.mode = Mode::shadow;
  rule.on_store_failure = OnStoreFailure(FailurePolicy::allow, seconds(300), FailurePolicy::deny);
  EXPECT_THAT(
      explain_rule(compiled(rule)),
      ElementsAre("Counts requests with action search, no api_key and method among GET and HEAD, by tenant and ip.",
                  "Allows 120 per 60 s, burst 200, per tenant and ip (token-bucket).",
                  "Plan free: 10 per 60 s, burst 200.", "Plan gold: unlimited.",
                  "Emergency override for tenant acme: 500 per 60 s, burst 200 (launch).",
                  "In shadow mode: it counts, but denies nothing.",
                  "If the store does not answer: allow for 5 min, then deny."));
  EXPECT_THAT(explain_rule(compiled(Rule{})), Contains("Counts every request, all together."));
}

TEST(RuleText, AMatchIsExplainedWithWhereItsNumbersComeFrom) {
  rules::RuleExplanation explanation;
  explanation.applies = true;
  explanation.chosen = "plan gold";
  explanation.allowance = make_allowance(search_rule().allowance).value();
  explanation.cost = 2;
  explanation.counted_by = {"tenant"};
  EXPECT_EQ(explain_match(explanation), "120 per 60 s, burst 200, from the plan gold; costs 2; counted by tenant.");
  EXPECT_EQ(allowance_source(explanation), "default");
  explanation.source = rules::AllowanceSource::plan;
  EXPECT_EQ(allowance_source(explanation), "plan");
  explanation.source = rules::AllowanceSource::override;
  EXPECT_EQ(allowance_source(explanation), "override");
  explanation.source = rules::AllowanceSource::emergency;
  EXPECT_EQ(allowance_source(explanation), "emergency");
}

}  // namespace
}  // namespace weir::admin
