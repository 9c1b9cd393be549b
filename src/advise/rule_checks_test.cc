// diff_rules, review_rules, estimate_size and bound_of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "advise/rule_bound.h"
#include "advise/rule_diff.h"
#include "advise/rule_review.h"
#include "advise/size_estimate.h"
#include "weir/rules_file.h"

namespace weir::advise {
namespace {

Rules rules_of(const std::string& lines) {
  const Result<RulesFile> read = parse_rules("version: 1\nrules:\n" + lines, "rules");
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.failure().message);
  return read.value().rules;
}

constexpr const char* kSearch =
    "  - {id: search, match: {action: search}, per: [tenant], limit: 100, window: 60s, on_store_failure: allow}\n";

TEST(RuleDiff, OfEqualRulesIsEmpty) {
  const std::string other = "  - {id: b, per: [ip], limit: 1, window: 1s}\n";
  EXPECT_TRUE(diff_rules(rules_of(kSearch + other), rules_of(other + kSearch)).empty());
}

TEST(RuleDiff, NamesFieldsAndKeepsBucketsWhenNumbersChange) {
  const auto changes =
      diff_rules(rules_of(kSearch), rules_of("  - {id: search, match: {action: search}, per: [tenant], limit: 40, "
                                             "window: 60s, on_store_failure: deny}\n"));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].kind, RuleChange::Kind::changed);
  EXPECT_FALSE(changes[0].fresh);
  ASSERT_EQ(changes[0].fields.size(), 2U);
  EXPECT_EQ(changes[0].fields[0].field, "limit");
  EXPECT_EQ(changes[0].fields[0].before, "100");
  EXPECT_EQ(changes[0].fields[0].after, "40");
  EXPECT_EQ(changes[0].text,
            "stricter: requests with action search, for each tenant: 100 per 1m, token-bucket becomes 40 per 1m, "
            "token-bucket; what is used stays used");
}

TEST(RuleDiff, SaysThatBucketsStartFullForAnotherAlgorithmOrSubject) {
  EXPECT_TRUE(
      diff_rules(rules_of(kSearch), rules_of("  - {id: search, match: {action: search}, per: [tenant], algorithm: "
                                             "gcra, limit: 100, window: 60s, on_store_failure: allow}\n"))[0]
          .fresh);
  EXPECT_TRUE(diff_rules(rules_of(kSearch), rules_of("  - {id: search, match: {action: search}, per: [tenant, user], "
                                                     "limit: 100, window: 60s, on_store_failure: allow}\n"))[0]
                  .fresh);
}

// The tag is a part of a bucket's key in Redis.
TEST(RuleDiff, WarnsThatAnotherHashTagStartsFullBuckets) {
  const std::string by_tenant = "  - {id: a, per: [tenant, user], limit: 20, window: 24h";
  const Rules before = rules_of(by_tenant + "}\n");
  const auto changes = diff_rules(before, rules_of(by_tenant + ", hash_tag: subject}\n"));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].fresh);
  EXPECT_THAT(changes[0].text, testing::HasSubstr("warning: hash_tag is a part of the keys in Redis"));
  EXPECT_FALSE(diff_rules(before, rules_of(by_tenant + ", hash_tag: tenant}\n"))[0].fresh) << "the default";
  EXPECT_FALSE(diff_rules(before, rules_of(by_tenant + ", hash_tag: tenant+action}\n"))[0].fresh)
      << "it does not count by action";
  const std::string by_address = "  - {id: a, per: [ip], limit: 20, window: 24h";
  EXPECT_FALSE(diff_rules(rules_of(by_address + "}\n"), rules_of(by_address + ", hash_tag: subject}\n"))[0].fresh);
}

TEST(RuleDiff, ListsAddedAndRemovedRulesAndFieldsOfTheFile) {
  Rules after = rules_of("  - {id: exports, per: [tenant], limit: 5, window: 1h}\n");
  after.on_no_rule = NoRulePolicy::deny;
  const auto changes = diff_rules(rules_of(kSearch), after);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].rule, "");
  EXPECT_EQ(changes[1].rule, "exports");
  EXPECT_EQ(changes[1].kind, RuleChange::Kind::added);
  EXPECT_EQ(changes[2].rule, "search");
  EXPECT_EQ(changes[2].kind, RuleChange::Kind::removed);
  EXPECT_NE(diff_json(changes).find(R"("rule":"search","change":"removed")"), std::string::npos);
}

std::set<std::string> patterns_of(const std::string& lines) {
  std::set<std::string> found;
  for (const Finding& finding : review_rules(rules_of(lines))) found.insert(finding.pattern);
  return found;
}

TEST(RuleReview, FindsEachPattern) {
  const std::string other =
      "  - {id: other, match: {action: x}, per: [tenant], limit: 1, window: 1s, on_store_failure: allow}\n";
  const auto expect = [&](const std::string& line, const std::string& pattern) {
    const std::set<std::string> found = patterns_of(other + line);
    EXPECT_TRUE(found.contains(pattern)) << line << " lacks " << pattern;
  };
  expect(
      "  - {id: a, match: {action: login}, per: [ip], algorithm: fixed-window, limit: 5, window: 60s, "
      "on_store_failure: deny}\n",
      "fixed-window-on-log-in");
  expect(
      "  - {id: a, match: {action: login}, per: [ip], algorithm: sliding-log, limit: 5, window: 60s, on_store_failure: "
      "allow}\n",
      "open-log-in");
  expect("  - {id: a, match: {action: b}, per: [ip], limit: 5, window: 60s}\n", "no-failure-policy");
  expect("  - {id: a, match: {action: b}, per: [authorization], limit: 5, window: 60s, on_store_failure: allow}\n",
         "raw-identity");
  expect("  - {id: a, match: {action: b}, per: [session|ip], limit: 5, window: 60s, on_store_failure: allow}\n",
         "unbounded-subjects");
  expect("  - {id: a, match: {action: b}, per: [ip], mode: off, limit: 5, window: 60s, on_store_failure: allow}\n",
         "never-matches");
  expect("  - {id: a, match: {api_key: absent}, per: [api_key], limit: 5, window: 60s, on_store_failure: allow}\n",
         "never-matches");
  expect(
      "  - {id: a, match: {action: b}, per: [ip], algorithm: sliding-log, limit: 5000, window: 60s, on_store_failure: "
      "allow}\n",
      "long-log");
  expect("  - {id: a, match: {action: b}, per: [ip], limit: 5, window: 1d, on_store_failure: allow}\n", "long-window");
  expect(
      "  - {id: a, match: {action: b}, per: [ip], limit: 5, window: 1m, cost: {attribute: n}, on_store_failure: "
      "allow}\n",
      "caller-names-cost");
  expect(
      "  - {id: a, match: {action: b}, per: [ip], limit: 5, window: 1m, on_store_failure: allow, overrides: [{when: "
      "{tenant: x}, limit: 9}]}\n",
      "endless-override");
  EXPECT_TRUE(patterns_of("  - {id: a, per: [ip], limit: 5, window: 60s, on_store_failure: allow}\n")
                  .contains("one-limit-for-everything"));
}

TEST(RuleReview, FindsNothingInRulesThatAreFine) {
  EXPECT_TRUE(patterns_of(std::string(kSearch) + "  - {id: login, match: {action: login}, per: [ip], algorithm: "
                                                 "sliding-log, limit: 5, window: 15m, on_store_failure: deny}\n"
                                                 "  - {id: sessions, match: {action: s}, per: [session], max_subjects: "
                                                 "1000, limit: 5, window: 15m, on_store_failure: deny}\n")
                  .empty());
}

TEST(SizeEstimate, GrowsWithSubjectsAndEntriesAndMatchesWhatTheStoreTakes) {
  const Rules rules = rules_of(
      "  - {id: token, per: [tenant], limit: 100, window: 60s, on_store_failure: allow}\n"
      "  - {id: logs, per: [tenant], algorithm: sliding-log, limit: 100, window: 60s, on_store_failure: allow}\n");
  const Estimate small =
      estimate_size(rules, {.requests_per_day = 86'400'000, .peak_per_second = 5'000, .subjects = 1'000}).value();
  const Estimate large =
      estimate_size(rules, {.requests_per_day = 864'000'000, .peak_per_second = 50'000, .subjects = 10'000}).value();
  EXPECT_NEAR(static_cast<double>(large.memory_bytes), 10.0 * static_cast<double>(small.memory_bytes),
              static_cast<double>(small.memory_bytes));
  const double token = static_cast<double>(small.rules[0].memory_bytes) / 1'000;
  EXPECT_TRUE(token > 48 && token < 120) << token;  // a slot has 48 bytes, and some slots are free
  const double logs = static_cast<double>(small.rules[1].memory_bytes) / 1'000;  // 60 requests in a window
  EXPECT_TRUE(logs > token + 60 * 8 && logs < token + 60 * 32) << logs;
  EXPECT_GT(small.rules[1].redis_bytes, small.rules[0].redis_bytes);
  EXPECT_EQ(small.store_calls, 5'000);
  EXPECT_GT(small.rules[0].hottest_operations, 5'000.0 / 1'000);
  EXPECT_TRUE(small.rules[0].exceeds_limit);
}

TEST(SizeEstimate, CountsOneBucketWhereThereIsNoSubjectAndBoundsSubjects) {
  const Estimate estimate =
      estimate_size(
          rules_of("  - {id: all, limit: 100, window: 60s, on_store_failure: allow}\n"
                   "  - {id: few, per: [ip], max_subjects: 10, limit: 100, window: 60s, on_store_failure: allow}\n"
                   "  - {id: off, mode: off, per: [ip], limit: 100, window: 60s, on_store_failure: allow}\n"),
          {.subjects = 1e6})
          .value();
  ASSERT_EQ(estimate.rules.size(), 2U);
  EXPECT_EQ(estimate.rules[0].subjects, 1);
  EXPECT_EQ(estimate.rules[0].hottest_operations, estimate.rules[0].operations);
  EXPECT_EQ(estimate.rules[1].subjects, 11);
}

TEST(SizeEstimate, RefusesImpossibleLoads) {
  EXPECT_FALSE(estimate_size({}, {.requests_per_day = 0}).ok());
  EXPECT_FALSE(estimate_size({}, {.subjects = 0}).ok());
  EXPECT_FALSE(estimate_size({}, {.costs = {{1, 0.5}}}).ok());
}

TEST(RuleBound, SaysWhatEachAlgorithmAdmits) {
  const auto text = [](Algorithm algorithm) {
    return bound_of(make_allowance({.algorithm = algorithm, .limit = 10, .window = std::chrono::seconds(60)}).value());
  };
  EXPECT_EQ(text(Algorithm::sliding_log).text, "exactly 10 in any 1m");
  EXPECT_TRUE(text(Algorithm::sliding_log).exact);
  EXPECT_NE(text(Algorithm::fixed_window).text.find("up to 20 in any 1m"), std::string::npos);
  EXPECT_FALSE(text(Algorithm::fixed_window).exact);
  EXPECT_FALSE(text(Algorithm::sliding_counter).exact);
  EXPECT_NE(text(Algorithm::bucketed_window).text.find("10 sub-buckets of 6s"), std::string::npos);
}

}  // namespace
}  // namespace weir::advise
