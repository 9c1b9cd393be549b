// Limits files of Limitador, imported.
#include "rules/formats/limitador_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/read/rules_file.h"
#include "rules/read/rules_text.h"

namespace weir::rules {
namespace {

using testing::HasSubstr;

Result<ForeignRules> read_text_of(std::string_view text) {
  const Result<base::YamlDocument> document = base::YamlDocument::parse(text, "limits.yaml");
  EXPECT_TRUE(document.ok());
  FaultList faults;
  LimitadorReader reader;
  reader.add(document.value(), faults);
  return std::move(reader).finish("limits.yaml", faults);
}

TEST(LimitadorFile, TurnsConditionsAndVariablesIntoMatchAndPer) {
  const Result<ForeignRules> read = read_text_of(R"(
- namespace: shop
  max_value: 10
  seconds: 60
  name: gets
  conditions: ["descriptors[0]['req.method'] == 'GET'", "descriptors[0].path == \"/a*\""]
  variables: ["descriptors[0].user_id", tenant]
- namespace: shop
  max_value: 0
  seconds: 86400
  conditions: ["req.method == 'DELETE'"]
  variables: []
)");
  ASSERT_TRUE(read.ok()) << read.failure().message;
  const std::string text = write_rules(read.value().rules);
  EXPECT_EQ(text, R"(version: 1
rules:
  - id: gets
    match: {domain: shop, req.method: GET, path: "~\\/a\\*"}
    per: [user_id, tenant]
    algorithm: fixed-window
    limit: 10
    window: 1m
  - id: shop.req_method.DELETE.86400s-5271125285a8
    match: {domain: shop, req.method: DELETE}
    algorithm: fixed-window
    limit: 1
    window: 1d
    cost: 2
)");
  const Result<Rules> again = parse_rules(text, "imported.yaml");
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(write_rules(again.value()), text);
}

TEST(LimitadorFile, TakesTextsThatAreWordsOfOurRulesAsTexts) {
  const Result<ForeignRules> read = read_text_of(R"(
- namespace: absent
  max_value: 10
  seconds: 60
  conditions: ["plan == 'absent'"]
  variables: ["descriptors[0]['a|b']"]
)");
  ASSERT_TRUE(read.ok()) << read.failure().message;
  const Rule& rule = read.value().rules.rules[0];
  EXPECT_EQ(rule.match, (std::vector<Condition>{{"domain", {"~absent"}}, {"plan", {"~absent"}}}));
  EXPECT_EQ(rule.per, std::vector<std::string>{"a\\|b"});
}

TEST(LimitadorFile, NamesLineAndColumnOfWhatItCannotExpress) {
  const auto fault_of = [](std::string_view text) {
    const Result<ForeignRules> read = read_text_of(text);
    return read.ok() ? std::string("no fault") : read.failure().message;
  };
  constexpr const char* kStart = "- namespace: n\n  max_value: 1\n  seconds: 1\n";
  EXPECT_THAT(fault_of(std::string(kStart) + "  conditions: [\"a != 'b'\"]"),
              HasSubstr("limits.yaml:4:16: [0].conditions[0]: is \"a != 'b'\", expected NAME == 'VALUE'"));
  EXPECT_THAT(fault_of(std::string(kStart) + "  conditions: [\"a == 'b'\", \"a == 'c'\"]"),
              HasSubstr("[0].conditions[1]: contradicts another condition on a"));
  EXPECT_THAT(fault_of(std::string(kStart) + "  variables: [\"size(a)\"]"),
              HasSubstr("limits.yaml:4:15: [0].variables[0]: is \"size(a)\", expected a name"));
  EXPECT_THAT(fault_of("- namespace: n\n  max_value: 1"), HasSubstr("limits.yaml:1:3: [0].seconds: is missing"));
  EXPECT_THAT(fault_of("limits: []"), HasSubstr("limits.yaml:1:1: is a map, expected a list of limits"));
  EXPECT_THAT(fault_of("- max_value: 1\n  seconds: 1"), HasSubstr("[0].namespace: is missing"));
}

}  // namespace
}  // namespace weir::rules
