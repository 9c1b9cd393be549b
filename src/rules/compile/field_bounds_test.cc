// Every bound of a rule's fields: the first and the last value pass, and one beyond is refused with the field's name.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "rules/compile/conditions.h"
#include "rules/compile/name_table.h"
#include "rules/compile/rule_check.h"
#include "weir/request.h"

namespace weir::rules {
namespace {

using namespace std::chrono_literals;

Rule sound_rule(Algorithm algorithm = Algorithm::token_bucket) {
  Rule rule;
  rule.id = "r";
  rule.allowance = {.algorithm = algorithm, .limit = 10, .window = 60s};
  return rule;
}

// The fields that are wrong, joined by spaces.
std::string faulty_fields(const Rule& rule) {
  std::string fields;
  for (const RuleFault& fault : check_rule(rule)) fields += (fields.empty() ? "" : " ") + to_string(fault.field);
  return fields;
}

CostModel cost_table(std::int64_t other, std::vector<std::pair<std::string, std::int64_t>> table) {
  return {.kind = CostModel::Kind::table, .units = other, .attribute = "method", .table = std::move(table)};
}

TEST(FieldBounds, NumbersPassFromTheLeastToTheMost) {
  const struct {
    const char* field;
    std::int64_t least;
    std::int64_t most;
    std::function<void(Rule&, std::int64_t)> set;
    Algorithm algorithm = Algorithm::token_bucket;
  } kNumbers[] = {
      {"limit", 0, kMaxUnits, [](Rule& rule, std::int64_t n) { rule.allowance.limit = n; }, Algorithm::fixed_window},
      {"limit", 0, kMaxLogLimit, [](Rule& rule, std::int64_t n) { rule.allowance.limit = n; }, Algorithm::sliding_log},
      {"window", micros(TimePoint(kMinWindow)), micros(TimePoint(kMaxWindow)),
       [](Rule& rule, std::int64_t n) { rule.allowance.window = Duration{n}; }, Algorithm::fixed_window},
      {"burst", 1, kMaxUnits,
       [](Rule& rule, std::int64_t n) {
         rule.allowance.limit = 60'000'000;  // a round rate, at which any burst can be counted
         rule.allowance.burst = n;
       }},
      {"queue", 0, kMaxUnits,
       [](Rule& rule, std::int64_t n) {
         rule.allowance.limit = 60'000'000;
         rule.allowance.queue = n;
       },
       Algorithm::leaky_bucket},
      {"cost", 0, kMaxUnits,
       [](Rule& rule, std::int64_t n) {
         rule.cost = {.kind = CostModel::Kind::fixed, .units = n, .attribute = {}, .table = {}};
       }},
      {"cost.default", 0, kMaxUnits,
       [](Rule& rule, std::int64_t n) {
         rule.cost = cost_table(n, {{"GET", 1}});
       }},
      {"cost.GET", 0, kMaxUnits,
       [](Rule& rule, std::int64_t n) {
         rule.cost = cost_table(1, {{"GET", n}});
       }},
      {"rollout", 0, 100, [](Rule& rule, std::int64_t n) { rule.rollout = static_cast<int>(n); }},
      {"local_share", 1, 100, [](Rule& rule, std::int64_t n) { rule.local_share = static_cast<int>(n); }},
      {"static_limit", 1, kMaxUnits,
       [](Rule& rule, std::int64_t n) {
         rule.on_store_failure = FailurePolicy::static_limit;
         rule.static_limit = n;
       }},
      {"max_subjects", 1, kMaxSubjects,
       [](Rule& rule, std::int64_t n) {
         rule.per = {"ip"};
         rule.max_subjects = n;
       }},
      {"local_limit.limit", 1, kMaxUnits,
       [](Rule& rule, std::int64_t n) { rule.local_limit = LocalLimit{.limit = n, .window = 1ms}; }},
      {"plans.pro.limit", 0, kMaxUnits,
       [](Rule& rule, std::int64_t n) { rule.plans = {{.name = "pro", .change = {.limit = n}}}; },
       Algorithm::fixed_window},
      {"overrides[0].limit", 0, kMaxUnits,
       [](Rule& rule, std::int64_t n) {
         rule.overrides.emplace_back();
         rule.overrides[0].change.limit = n;
       },
       Algorithm::fixed_window},
  };
  for (const auto& number : kNumbers) {
    const auto faults = [&number](std::int64_t value) {
      Rule rule = sound_rule(number.algorithm);
      number.set(rule, value);
      return faulty_fields(rule);
    };
    EXPECT_EQ(faults(number.least), "") << number.field;
    EXPECT_EQ(faults(number.most), "") << number.field;
    EXPECT_EQ(faults(number.least - 1), number.field);
    EXPECT_EQ(faults(number.most + 1), number.field);
  }
}

TEST(FieldBounds, SubBucketsDivideTheWindowAndAreTwoToAThousand) {
  const auto faults = [](std::int64_t buckets) {
    Rule rule = sound_rule(Algorithm::bucketed_window);
    rule.allowance.buckets = buckets;
    return faulty_fields(rule);
  };
  EXPECT_EQ(faults(1), "buckets");
  EXPECT_EQ(faults(2), "");
  EXPECT_EQ(faults(kMaxSubBuckets), "");
  EXPECT_EQ(faults(7), "buckets");
  EXPECT_EQ(faults(1'200), "buckets");
}

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("n" + std::to_string(i));
  return all;
}

TEST(FieldBounds, ListsAndTextsPassUpToTheirMost) {
  const struct {
    const char* field;
    std::size_t most;
    std::function<void(Rule&, std::size_t)> set;
  } kLengths[] = {
      {"id", kMaxRuleId, [](Rule& rule, std::size_t n) { rule.id = std::string(n, 'a'); }},
      {"per", kMaxPer, [](Rule& rule, std::size_t n) { rule.per = names(n); }},
      {"per[0]", kMaxAttributeName, [](Rule& rule, std::size_t n) { rule.per = {std::string(n, 'a')}; }},
      {"match", kMaxConditions,
       [](Rule& rule, std::size_t n) {
         for (const std::string& name : names(n)) rule.match.push_back({name, {"x"}});
       }},
      {"match.a", kMaxPatterns,
       [](Rule& rule, std::size_t n) {
         rule.match = {{"a", names(n)}};
       }},
      {"match.a", kMaxPatternBytes,
       [](Rule& rule, std::size_t n) {
         rule.match = {{"a", {std::string(n, 'x')}}};
       }},
      {"descriptor", kMaxAttributes,
       [](Rule& rule, std::size_t n) {
         for (const std::string& name : names(n)) rule.descriptor.push_back({name});
       }},
      {"descriptor[0]", kMaxPatternBytes,
       [](Rule& rule, std::size_t n) {
         rule.descriptor = {{"a", std::string(n, 'x')}};
       }},
      {"replaces", kMaxReplaces,
       [](Rule& rule, std::size_t n) {
         rule.descriptor = {{"a"}};
         rule.replaces = names(n);
       }},
      {"plans", kMaxPlans,
       [](Rule& rule, std::size_t n) {
         for (const std::string& name : names(n)) rule.plans.push_back({.name = name, .change = {.limit = 1}});
       }},
      {"cost", kMaxCostEntries,
       [](Rule& rule, std::size_t n) {
         rule.cost = cost_table(1, {});
         for (const std::string& name : names(n)) rule.cost.table.emplace_back(name, 1);
       }},
      {"overrides[0].reason", kMaxReason,
       [](Rule& rule, std::size_t n) {
         rule.overrides.emplace_back();
         rule.overrides[0].change.limit = 1;
         rule.overrides[0].reason = std::string(n, 'r');
       }},
      {"overrides[0].when", kMaxConditions,
       [](Rule& rule, std::size_t n) {
         rule.overrides.emplace_back();
         rule.overrides[0].change.limit = 1;
         for (const std::string& name : names(n)) rule.overrides[0].when.push_back({name, {"x"}});
       }},
  };
  for (const auto& length : kLengths) {
    const auto faults = [&length](std::size_t size) {
      Rule rule = sound_rule();
      length.set(rule, size);
      return faulty_fields(rule);
    };
    EXPECT_EQ(faults(length.most), "") << length.field;
    EXPECT_EQ(faults(length.most + 1), length.field);
  }
}

TEST(FieldBounds, AnOverrideEndsInTheYearsOneTo9999) {
  const auto faults = [](TimePoint until) {
    Rule rule = sound_rule();
    rule.overrides.emplace_back();
    rule.overrides[0].change.limit = 1;
    rule.overrides[0].until = until;
    return faulty_fields(rule);
  };
  const TimePoint first = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);
  const TimePoint end = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  EXPECT_EQ(faults(first), "");
  EXPECT_EQ(faults(first - 1us), "overrides[0].until");
  EXPECT_EQ(faults(end - 1us), "");
  EXPECT_EQ(faults(end), "overrides[0].until");
}

TEST(FieldBounds, ARuleThatDeniesBadCostsNeedsRoomForOneThatNeverFits) {
  const auto faults = [](std::int64_t own, std::int64_t plan, std::int64_t override) {
    Rule rule = sound_rule(Algorithm::fixed_window);
    rule.on_bad_cost = BadCostPolicy::deny;
    rule.cost = {.kind = CostModel::Kind::attribute, .units = 1, .attribute = "tokens", .table = {}};
    rule.allowance.limit = own;
    rule.plans = {{.name = "pro", .change = {.limit = plan}}};
    rule.overrides.emplace_back();
    rule.overrides[0].change.limit = override;
    return faulty_fields(rule);
  };
  EXPECT_EQ(faults(kMaxUnits - 1, kMaxUnits - 1, kMaxUnits - 1), "");
  EXPECT_EQ(faults(kMaxUnits, 1, 1), "on_bad_cost");
  EXPECT_EQ(faults(1, kMaxUnits, 1), "on_bad_cost");
  EXPECT_EQ(faults(1, 1, kMaxUnits), "on_bad_cost");
}

TEST(FieldBounds, TotalsPassUpToTheirMost) {
  const auto faults = [](std::size_t overrides, std::size_t expressions, std::size_t attributes) {
    Rules rules;
    rules.rules = {sound_rule()};
    Rule& rule = rules.rules[0];
    rule.overrides.resize(overrides);
    rule.match = {{"n0", {}}};
    for (std::size_t i = 0; i < expressions; ++i) rule.match[0].patterns.push_back("~x" + std::to_string(i));
    rule.per = names(attributes);
    std::string all;
    for (const std::string& fault : check_totals(rules)) all += fault + "; ";
    return all;
  };
  EXPECT_EQ(faults(kMaxOverrides, kMaxExpressions, NameTable::kMaxNames - 1), "") << "one name is plan's";
  EXPECT_EQ(faults(kMaxOverrides + 1, 0, 0), "rules: has 100001 overrides, expected at most 100000; ");
  EXPECT_NE(faults(0, kMaxExpressions + 1, 0).find("regular expressions"), std::string::npos);
  EXPECT_NE(faults(0, 0, NameTable::kMaxNames).find("attribute names"), std::string::npos);
}

}  // namespace
}  // namespace weir::rules
