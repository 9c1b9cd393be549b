// RuleSet::match against a matcher that looks at every rule in turn and indexes nothing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rules/compile/rule_set.h"

namespace weir::rules {
namespace {

using namespace std::chrono_literals;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

// Few names and values, so that generated requests often meet generated rules. "a_name_of_many_bytes" and its
// neighbour differ only in the middle.
const std::vector<std::string> kNames = {
    "tenant", "user", "action", "plan", "a_name_of_many_bytes", "a_name_if_many_bytes"};
const std::vector<std::string> kValues = {
    "", "a", "b", "ab", "free", "pro", "a-value-longer-than-sixteen", "a-value-larger-than-sixteen"};
const std::vector<std::string> kGlobs = {"*", "a*", "?", "*b", "~a.*", "~[a-f]+", "absent"};

template <typename T>
T one_of(const std::vector<T>& from) {
  return *rc::gen::elementOf(from);
}
int up_to(int most) { return *rc::gen::inRange(0, most + 1); }

std::vector<Condition> some_conditions(int most) {
  std::vector<Condition> conditions(static_cast<std::size_t>(up_to(most)));
  for (Condition& condition : conditions) {
    condition.attribute = one_of(kNames);
    const int patterns = 1 + up_to(2);
    for (int i = 0; i < patterns; ++i) condition.patterns.push_back(one_of(up_to(3) == 0 ? kGlobs : kValues));
  }
  return conditions;
}

Rule some_rule(int number) {
  Rule rule;
  rule.id = "r" + std::to_string(number);
  rule.match = some_conditions(3);
  for (const std::string& name : kNames) {
    if (up_to(4) > 0) continue;
    if (rule.per.empty() || up_to(1) == 0) {
      rule.per.push_back(name);
    } else {
      rule.per.back() += "|" + name;
    }
  }
  rule.allowance = {.algorithm = Algorithm::gcra, .limit = 1'000 * (number + 1), .window = 1s};
  rule.mode = up_to(5) == 0 ? Mode::off : Mode::enforce;
  for (const char* plan : {"free", "pro"}) {
    if (up_to(2) > 0) continue;
    rule.plans.push_back({plan, {.limit = rule.allowance.limit + static_cast<std::int64_t>(rule.plans.size()) + 1}});
  }
  const int overrides = std::max(0, up_to(8) - 4);
  for (int i = 0; i < overrides; ++i) {
    Override override;
    override.when = some_conditions(2);
    override.change.limit = rule.allowance.limit + 100 + i;
    override.emergency = up_to(3) == 0;
    if (up_to(3) == 0) override.until = kNow + Duration(up_to(2) - 1);
    rule.overrides.push_back(override);
  }
  return rule;
}

bool naive_fits(const std::string& pattern, std::string_view value) {
  if (pattern == "absent") return false;
  if (pattern == "*") return true;
  if (pattern == "a*" || pattern == "~a.*") return value.starts_with('a');
  if (pattern == "?") return value.size() == 1;
  if (pattern == "*b") return value.ends_with('b');
  if (pattern == "~[a-f]+") {
    return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return c >= 'a' && c <= 'f'; });
  }
  return pattern == value;
}

bool naive_carries(std::string_view name, const std::vector<Attribute>& attributes) {
  return std::any_of(attributes.begin(), attributes.end(), [&](const Attribute& a) { return a.name == name; });
}

bool naive_holds(const std::vector<Condition>& conditions, const std::vector<Attribute>& attributes) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    const bool absent = std::count(condition.patterns.begin(), condition.patterns.end(), "absent") > 0;
    if (absent && !naive_carries(condition.attribute, attributes)) return true;
    return std::any_of(attributes.begin(), attributes.end(), [&](const Attribute& attribute) {
      return attribute.name == condition.attribute &&
             std::any_of(condition.patterns.begin(), condition.patterns.end(),
                         [&](const std::string& pattern) { return naive_fits(pattern, attribute.value); });
    });
  });
}

bool naive_applies(const Rule& rule, const std::vector<Attribute>& attributes) {
  if (rule.mode == Mode::off || !naive_holds(rule.match, attributes)) return false;
  return std::all_of(rule.per.begin(), rule.per.end(), [&](const std::string& entry) {
    std::string_view rest = entry;
    for (std::size_t bar = rest.find('|'); bar != std::string_view::npos; bar = rest.find('|')) {
      if (naive_carries(rest.substr(0, bar), attributes)) return true;
      rest.remove_prefix(bar + 1);
    }
    return naive_carries(rest, attributes);
  });
}

std::int64_t naive_limit(const Rule& rule, const std::vector<Attribute>& attributes) {
  for (const bool emergency : {true, false}) {
    for (const Override& override : rule.overrides) {
      const bool in_time = !override.until || kNow < *override.until;
      if (override.emergency == emergency && in_time && naive_holds(override.when, attributes)) {
        return *override.change.limit;
      }
    }
  }
  for (const Attribute& attribute : attributes) {
    if (attribute.name != "plan") continue;
    for (const Plan& plan : rule.plans) {
      if (plan.name == attribute.value) return *plan.change.limit;
    }
  }
  return rule.allowance.limit;
}

RC_GTEST_PROP(RuleSetModel, MatchesWhatALinearMatcherMatches, ()) {
  Rules rules;
  const int count = up_to(30);
  for (int i = 0; i < count; ++i) rules.rules.push_back(some_rule(i));
  RuleNames rule_names;
  const auto set = RuleSet::compile(rules, rule_names);
  RC_ASSERT(set.ok());

  for (int round = 0; round < 10; ++round) {
    std::vector<Attribute> attributes(static_cast<std::size_t>(up_to(6)));
    for (Attribute& attribute : attributes) {
      attribute.name = *std::find(kNames.begin(), kNames.end(), one_of(kNames));
      attribute.value = *std::find(kValues.begin(), kValues.end(), one_of(kValues));
    }
    std::vector<std::pair<std::string, std::int64_t>> expected;
    for (const Rule& rule : rules.rules) {
      if (naive_applies(rule, attributes)) expected.emplace_back(rule.id, naive_limit(rule, attributes));
    }
    ResolvedNames names;
    Matches matches;
    set.value()->match(Request(attributes), kNow, names, matches);
    std::vector<std::pair<std::string, std::int64_t>> actual;
    for (const Match& match : matches) actual.emplace_back(match.rule->name.id, match.allowance->limit);
    RC_ASSERT(actual == expected);
  }
}

// The text that the index hashes: equal only when equal, at every length.
TEST(RuleSetModel, TellsValuesApartThatDifferInOneByte) {
  for (std::size_t length = 1; length <= 40; ++length) {
    const std::string base(length, 'x');
    Rules rules;
    Rule rule;
    rule.id = "r";
    rule.allowance = {.algorithm = Algorithm::gcra, .limit = 1, .window = 1s};
    rule.match = {{base, {base}}};
    rules.rules.push_back(rule);
    RuleNames rule_names;
    const auto set = RuleSet::compile(rules, rule_names);
    const auto matched = [&](const std::string& name, const std::string& value) {
      const Attribute attribute{name, value};
      ResolvedNames names;
      Matches matches;
      set.value()->match(Request(std::span(&attribute, 1)), kNow, names, matches);
      return matches.size() == 1;
    };
    EXPECT_TRUE(matched(base, base));
    EXPECT_FALSE(matched(base + "x", base));
    EXPECT_FALSE(matched(base, base + "x"));
    for (std::size_t i = 0; i < length; ++i) {
      std::string other = base;
      other[i] = 'y';
      EXPECT_FALSE(matched(other, base)) << length << " " << i;
      EXPECT_FALSE(matched(base, other)) << length << " " << i;
    }
  }
}

}  // namespace
}  // namespace weir::rules
