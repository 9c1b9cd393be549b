#include "rules/compile/rule_check.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "rules/compile/rule_set.h"
#include "rules/compile/rule_warnings.h"
#include "rules/read/rules_file.h"

namespace weir::rules {
namespace {

using namespace std::chrono_literals;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

TEST(RuleCheck, FaultsOfRulesMadeInCodeNameTheRule) {
  Rules rules;
  rules.rules.resize(3);
  rules.rules[0].id = "fine";
  rules.rules[0].allowance = {.algorithm = Algorithm::gcra, .limit = 1, .window = 1s};
  rules.rules[1].id = "search-per-key";
  rules.rules[1].allowance = {.algorithm = Algorithm::gcra, .limit = 1, .window = 1s, .burst = 0};
  rules.rules[1].match = {{"ip", {"10.0.0.0/8", "10/8"}}, {"", {"x"}}};
  rules.rules[1].rollout = 101;
  rules.rules[2] = rules.rules[0];
  RuleNames names;
  const auto set = RuleSet::compile(rules, names);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.failure().code, Code::invalid_argument);
  EXPECT_EQ(set.failure().message,
            "rule search-per-key: match.ip: is \"10/8\", expected an address or a block such as 10.0.0.0/8\n"
            "rule search-per-key: match[0]: is \"\", expected the name of an attribute, 1 to 128 bytes without control "
            "characters\n"
            "rule search-per-key: burst: is 0, expected 1 to 1000000000000\n"
            "rule search-per-key: rollout: is 101, expected 0 to 100\n"
            "rule fine: id: is the id of an earlier rule too");
  EXPECT_EQ(names.size(), 0u);  // nothing is remembered of rules that were refused
}

TEST(RuleCheck, ARuleReplacesOthersThatExist) {
  Rules rules;
  rules.rules.resize(2);
  for (Rule& rule : rules.rules) rule.allowance = {.algorithm = Algorithm::gcra, .limit = 1, .window = 1s};
  rules.rules[0].id = "general";
  rules.rules[1].id = "special";
  rules.rules[1].descriptor = {{"user", "ann"}};
  rules.rules[1].replaces = {"general"};
  EXPECT_TRUE(check_rules(rules).ok());
  rules.rules[1].replaces = {"general", "gone", "special"};
  const Status status = check_rules(rules);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().message,
            "rule special: replaces: no rule has the id \"gone\"\n"
            "rule special: replaces: names the rule itself");
}

TEST(RuleNames, GiveTheSameNumberForTheSameId) {
  RuleNames names;
  const RuleName a = names.intern("a").value();
  const RuleName b = names.intern("b").value();
  const RuleName again = names.intern(std::string("a")).value();
  EXPECT_EQ(a.ordinal, 0u);
  EXPECT_EQ(b.ordinal, 1u);
  EXPECT_EQ(again.ordinal, a.ordinal);
  EXPECT_EQ(again.id.data(), a.id.data());
  EXPECT_EQ(names.id_of(1), "b");
  EXPECT_EQ(names.id_of(2), "");
  EXPECT_EQ(names.size(), 2u);
}

TEST(RuleWarnings, TellWhatIsProbablyNotMeant) {
  const Rules rules = parse_rules(R"(version: 1
rules:
  - {id: fine, per: [a], limit: 1, window: 1s, overrides: [{limit: 2, until: 2099-01-01T00:00:00Z}, {limit: 3}]}
  - {id: a, limit: 1, window: 1s, rollout: 0}
  - id: b
    per: x
    limit: 1
    window: 1s
    static_limit: 4
    overrides: [{limit: 2, until: 2001-01-01T00:00:00Z}, {limit: 3}, {limit: 4}]
)",
                                  "f.yaml")
                          .value();
  EXPECT_EQ(rule_warnings(rules, kNow),
            (std::vector<std::string>{
                "rule a: per: is empty: one bucket for everybody",
                "rule a: rollout: is 0: the rule applies to nobody; mode: off says so more clearly",
                "rule b: overrides[0].until: has passed: the override does nothing any more",
                "rule b: overrides[1]: applies to every request, so the overrides after it never do",
                "rule b: static_limit: is not used: on_store_failure is not static",
            }));
}

TEST(RuleCheck, CountsRulesOverridesExpressionsAndNames) {
  Rules rules;
  rules.rules.resize(kMaxRules + 1);
  EXPECT_EQ(check_totals(rules), std::vector<std::string>{"rules: has 100001 rules, expected at most 100000"});
  rules.rules.resize(2);
  rules.rules[0].overrides.resize(60'000);
  rules.rules[1].overrides.resize(60'000);
  EXPECT_EQ(check_totals(rules), std::vector<std::string>{"rules: has 120000 overrides, expected at most 100000"});
  rules.rules.resize(1);
  rules.rules[0].overrides.clear();
  rules.rules[0].match = {{"x", std::vector<std::string>(5'000, "~a")}};
  EXPECT_EQ(check_totals(rules),
            std::vector<std::string>{"rules: has 5000 regular expressions, expected at most 4096"});
  rules.rules[0].per.clear();
  for (int i = 0; i < 60'000; ++i) rules.rules[0].per.push_back("n" + std::to_string(i));
  EXPECT_EQ(check_totals(rules).back(), "rules: has 60002 attribute names, expected at most 60000");
}

}  // namespace
}  // namespace weir::rules
