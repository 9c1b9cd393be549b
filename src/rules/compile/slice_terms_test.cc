#include "rules/compile/slice_terms.h"

#include <gtest/gtest.h>

#include "rules/compile/rule_set.h"

namespace weir::rules {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Rule leased_rule() {
  Rule rule;
  rule.id = "r";
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = 1'000, .window = seconds(1)};
  rule.consistency = Consistency::leased;
  return rule;
}

std::optional<SliceTerms> terms_of(const Rule& rule) {
  RuleNames names;
  Rules rules;
  rules.rules = {rule};
  return RuleSet::compile(rules, names, RulesAre::unchecked, {.version = 7}).value()->rules()[0].slices;
}

TEST(SliceTerms, AnExactRuleHasNone) {
  Rule rule = leased_rule();
  rule.consistency = Consistency::exact;
  EXPECT_FALSE(terms_of(rule));
}

TEST(SliceTerms, ASliceLivesForATenthOfTheTimeInWhichTheBucketRefills) {
  const auto terms = terms_of(leased_rule());
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->life, milliseconds(100));
  EXPECT_EQ(terms->floor, 100);
  EXPECT_EQ(terms->version, 7U);
}

TEST(SliceTerms, ASliceLivesForASecondAtMost) {
  Rule rule = leased_rule();
  rule.allowance.window = minutes(1);
  const auto terms = terms_of(rule);
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->life, seconds(1));
  EXPECT_EQ(terms->floor, 17) << "1,000 in a minute are 16.7 in a second";
}

TEST(SliceTerms, ABucketThatRefillsTooQuicklyForSlicesIsExact) {
  Rule rule = leased_rule();
  rule.allowance.burst = 5;
  EXPECT_FALSE(terms_of(rule));
}

TEST(SliceTerms, TheFastestPlanIsPaidForAndTheSmallestHasRoom) {
  Rule rule = leased_rule();
  rule.plans = {{"pro", {.limit = 10'000}}, {"free", {.limit = 100}}};
  const auto terms = terms_of(rule);
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->life, milliseconds(1)) << "the capacity of free at the rate of pro, and a tenth of that";
  EXPECT_EQ(terms->floor, 10);
}

TEST(SliceTerms, WindowsPayNothing) {
  Rule rule = leased_rule();
  rule.allowance.algorithm = Algorithm::fixed_window;
  const auto terms = terms_of(rule);
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->floor, 0);
  EXPECT_EQ(terms->life, milliseconds(100));
}

TEST(SliceTerms, ASyncedRuleToleratesFivePercentAndReportsEveryTenthOfASecond) {
  Rule rule = leased_rule();
  rule.consistency = Consistency::synced;
  rule.allowance.burst = 30;
  auto terms = terms_of(rule);
  ASSERT_TRUE(terms) << "a bucket that refills quickly can be synced";
  EXPECT_EQ(terms->tolerated(30), 1);
  EXPECT_EQ(terms->tolerated(1'000), 50);
  EXPECT_EQ(terms->sync_interval, milliseconds(100));
  EXPECT_EQ(terms->version, 7U);
  rule.tolerance = Share{.amount = 7};
  rule.sync_interval = milliseconds(20);
  terms = terms_of(rule);
  EXPECT_EQ(terms->tolerated(1'000), 7);
  EXPECT_EQ(terms->sync_interval, milliseconds(20));
}

TEST(SliceTerms, ALimitOfZeroNeedsNoSlices) {
  Rule rule = leased_rule();
  rule.allowance.limit = 0;
  EXPECT_FALSE(terms_of(rule));
}

}  // namespace
}  // namespace weir::rules
