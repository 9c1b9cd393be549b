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

std::vector<std::string> warnings_of(const Rules& rules) {
  std::vector<std::string> lines;
  for (const RuleWarning& warning : rule_warnings(rules, kNow).kept) lines.push_back(to_line(rules, warning));
  return lines;
}

TEST(RuleWarnings, NameWhatIsProbablyNotMeant) {
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
  - {id: c, per: x, limit: 19, window: 1s, consistency: synced}
  - {id: d, per: x, limit: 20, window: 1s, consistency: synced}
)",
                                  "f.yaml")
                          .value();
  EXPECT_EQ(warnings_of(rules),
            (std::vector<std::string>{
                "rule a: per: is empty: one bucket for all requests",
                "rule a: rollout: is 0: the rule applies to no request; mode: off says so more clearly",
                "rule b: overrides[0].until: has passed: the override no longer applies",
                "rule b: overrides[1]: applies to every request, so the overrides after it never apply",
                "rule b: static_limit: is not used: on_store_failure is not static",
                "rule c: consistency: is synced with a tolerance of less than one unit, so that the rule is exact",
            }));
}

Rules rules_of(const std::string& list) { return parse_rules("version: 1\nrules:\n" + list, "f.yaml").value(); }

TEST(RuleWarnings, SuggestTheAttributeThatAMisspeltOneResembles) {
  EXPECT_EQ(
      warnings_of(rules_of("  - {id: a, per: [tennant], limit: 1, window: 1s}\n"
                           "  - {id: b, per: [user], match: {Action: x, methd: GET}, limit: 1, window: 1s}\n")),
      (std::vector<std::string>{
          "rule a: per[0]: the attribute \"tennant\" looks misspelt (did you mean tenant?): requests that do not "
          "carry it are not counted",
          "rule b: match.Action: the attribute \"Action\" looks misspelt (did you mean action?): requests that do "
          "not carry it are not counted",
          "rule b: match.methd: the attribute \"methd\" looks misspelt (did you mean method?): requests that do "
          "not carry it are not counted",
      }));
}

TEST(RuleWarnings, SayWhatAMisspeltNameMeansAmongAlternativesAndWhereItIsToBeAbsent) {
  EXPECT_EQ(warnings_of(rules_of("  - {id: a, per: [api_key|sesion], limit: 1, window: 1s}\n"
                                 "  - {id: b, per: [ip], match: {api_kee: absent}, limit: 1, window: 1s}\n")),
            (std::vector<std::string>{
                "rule a: per[0]: the attribute \"sesion\" looks misspelt (did you mean session?): requests that do not "
                "carry it are not counted",
                "rule b: match.api_kee: the attribute \"api_kee\" looks misspelt (did you mean api_key?): no request "
                "carries it, so the condition is always true",
            }));
}

TEST(RuleWarnings, NameARuleAboutRequestsWithoutWhatItNeeds) {
  EXPECT_EQ(
      warnings_of(rules_of("  - {id: a, match: {ip: absent}, per: [tenant, ip], limit: 1, window: 1s}\n"
                           "  - {id: b, match: [{ip: absent}, {ip: 10.0.0.0/8}], per: user, limit: 1, window: 1s}\n"
                           "  - {id: c, match: {ip: [absent, 10.0.0.0/8]}, per: ip, limit: 1, window: 1s}\n"
                           "  - {id: d, match: {ip: absent}, per: user|ip, limit: 1, window: 1s}\n")),
      (std::vector<std::string>{
          "rule a: per[1]: no request that the rule matches carries ip (match), so the rule never applies",
          "rule b: match: no request that the rule matches carries ip (match), so the rule never applies",
      }));
}

TEST(RuleWarnings, NameOnceWhichRulesLeaveTheFailurePolicyToTheDefault) {
  const auto what = [](const std::string& list) {
    const std::optional<RuleWarning> warning = default_policy_warning(rules_of(list));
    return warning ? std::to_string(warning->rule) + ": " + warning->what : "none";
  };
  const std::string meaning =
      ": the default is allow, so requests pass without being counted while the store does not answer; to choose, set "
      "it in the rule, or in defaults for all";
  EXPECT_EQ(what("  - {id: a, limit: 1, window: 1s, on_store_failure: allow}\n"
                 "  - {id: b, limit: 1, window: 1s, mode: off}\n"),
            "none");
  EXPECT_EQ(what("  - {id: a, limit: 1, window: 1s, on_store_failure: deny}\n"
                 "  - {id: b, limit: 1, window: 1s}\n"),
            "1: is not set" + meaning);
  std::string many;
  for (int i = 0; i < 7; ++i) many += "  - {id: r" + std::to_string(i) + ", limit: 1, window: 1s}\n";
  EXPECT_EQ(what(many), "0: is not set, nor for r1, r2, r3, r4, r5 and 1 other rule" + meaning);
}

TEST(RuleWarnings, NameAMessageThatIsNeverShown) {
  EXPECT_EQ(warnings_of(rules_of("  - {id: a, per: ip, limit: 1, window: 1s, hidden: true, message: no}\n"
                                 "  - {id: b, per: ip, limit: 1, window: 1s, hidden: rule, message: no}\n")),
            (std::vector<std::string>{"rule a: message: is not shown: with hidden: true no answer names a "
                                      "rule"}));
}

TEST(RuleWarnings, NameAMessageOfARuleThatDeniesNothing) {
  EXPECT_EQ(warnings_of(rules_of("  - {id: a, per: ip, limit: unlimited, message: no}\n"
                                 "  - id: b\n    per: ip\n    limit: unlimited\n    message: no\n"
                                 "    plans: {free: {limit: 1, window: 1s}}\n")),
            (std::vector<std::string>{"rule a: message: is not shown: the rule is unlimited, so it denies nothing"}));
}

TEST(RuleWarnings, NameAMessageWithAWaitWhereTheLimitIsZero) {
  EXPECT_EQ(warnings_of(rules_of("  - {id: a, per: ip, limit: 0, window: 1s, message: 'in {wait}'}\n"
                                 "  - {id: b, per: ip, limit: 0, window: 1s, message: 'never'}\n"
                                 "  - {id: c, per: ip, limit: 1, window: 1s, message: 'in {wait}'}\n")),
            (std::vector<std::string>{"rule a: message: is not shown where the limit is 0: it contains {wait}, and no "
                                      "wait helps there"}));
}

TEST(RuleNames, KeepAMessageOnceAndForGood) {
  RuleNames names;
  const std::string_view first = names.intern_message("wait a little").value();
  for (int i = 0; i < 1'000; ++i) names.intern_message("message " + std::to_string(i)).value();
  EXPECT_EQ(names.intern_message(std::string("wait a little")).value().data(), first.data());
  EXPECT_EQ(first, "wait a little");
  EXPECT_EQ(names.intern_message("").value(), "");
  const std::string megabyte(1 << 20, 'x');
  Status status = success();
  for (int i = 0; i < 200 && status.ok(); ++i) {
    const Result<std::string_view> kept = names.intern_message(megabyte + std::to_string(i));
    if (!kept.ok()) status = kept.failure();
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().code, Code::resource_exhausted);
  EXPECT_TRUE(names.intern_message("wait a little").ok()) << "what is known needs no more room";
}

TEST(RuleWarnings, SuggestAnAttributeThatMoreRulesUse) {
  const std::vector<std::string> lines =
      warnings_of(rules_of("  - {id: a, per: [warehouse], limit: 1, window: 1s}\n"
                           "  - {id: b, per: [warehouse], limit: 2, window: 1s}\n"
                           "  - {id: c, per: [warehose], limit: 3, window: 1s}\n"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("rule c: per[0]: the attribute \"warehose\"")) << lines[0];
  EXPECT_NE(lines[0].find("did you mean warehouse?"), std::string::npos) << lines[0];
}

TEST(RuleWarnings, AreSilentAboutNamesThatOnlyLookAlikeByNumberOrAreShort) {
  EXPECT_EQ(warnings_of(rules_of("  - {id: a, per: [shard1], limit: 1, window: 1s, plans: {tier1: {limit: 2}}}\n"
                                 "  - {id: b, per: [shard2], limit: 1, window: 1s, plans: {tier2: {limit: 2}}}\n"
                                 "  - {id: c, per: [ipx, org, token, user_id, x-tenant-id], limit: 1, window: 1s}\n")),
            std::vector<std::string>());
}

TEST(RuleWarnings, NameAPlanThatDiffersFromAnotherInCaseOrByALetter) {
  EXPECT_EQ(
      warnings_of(rules_of("  - {id: a, per: user, limit: 1, window: 1s, plans: {pro: {limit: 2}, free: {limit: 3}}}\n"
                           "  - {id: b, per: user, limit: 1, window: 1s, plans: {Pro: {limit: 2}, fre: {limit: 3}}}\n"
                           "  - {id: c, per: user, limit: 1, window: 1s, plans: {frees: {limit: 2}}}\n")),
      (std::vector<std::string>{
          "rule b: plans.Pro: the plan \"Pro\" looks like \"pro\" of rule a: plans are compared letter by letter, "
          "case included",
          "rule c: plans.frees: the plan \"frees\" looks like \"free\" of rule a: plans are compared letter by "
          "letter, case included",
      }));
}

TEST(RuleWarnings, AreBoundedAndCounted) {
  std::string list;
  for (int i = 0; i < 150; ++i) list += "  - {id: r" + std::to_string(i) + ", limit: 1, window: 1s}\n";
  list += "  - {id: last, per: [tennant], limit: 1, window: 1s}\n";
  const RuleWarnings warnings = rule_warnings(rules_of(list), kNow);
  EXPECT_EQ(warnings.kept.size(), RuleWarnings::kMostKept);
  EXPECT_EQ(warnings.left_out, 51u);
  EXPECT_EQ(warnings.kept.back().rule, 150u) << "the misspelt name is among those kept";
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
