#include "frontends/http/json_fault.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>

namespace weir::http {
namespace {

std::string fault(std::string_view text) {
  const std::optional<JsonFault> found = find_json_fault(text);
  return found ? line_and_column(text, found->offset) + ": expected " + found->expected : "valid";
}

TEST(JsonFault, SaysWhereATextIsWrongAndWhatWasExpected) {
  EXPECT_EQ(fault(R"({"a":[1,-0.5e+3,true,null,"\u00e9\n"],"b":{}})"), "valid");
  EXPECT_EQ(fault("{"), "line 1, column 2: expected a name in double quotes, or '}', but the text ends here");
  EXPECT_EQ(fault("{\n  \"a\" 1}"), "line 2, column 7: expected ':' after the name");
  EXPECT_EQ(fault("{\"é\":1,}"), "line 1, column 8: expected a name: remove the comma before '}'");
  EXPECT_EQ(fault("[1,]"), "line 1, column 4: expected a value: remove the comma before ']'");
  EXPECT_EQ(fault("{'a':1}"), "line 1, column 2: expected a name in double quotes, or '}'");
  EXPECT_EQ(fault("{\"a\":'b'}"), "line 1, column 6: expected a value: strings need double quotes");
  EXPECT_EQ(fault("{\"a\":b}"), "line 1, column 6: expected a value");
  EXPECT_EQ(fault("{\"a\":01}"), "line 1, column 6: expected a value");
  EXPECT_EQ(fault("{\"a\":\"b\" \"c\":1}"), "line 1, column 10: expected ',' or '}'");
  EXPECT_EQ(fault("[1 2]"), "line 1, column 4: expected ',' or ']'");
  EXPECT_EQ(fault("{\"a\":\"b}"), "line 1, column 6: expected a closing quote for the string that begins here");
  EXPECT_EQ(fault("\"a\tb\""), "line 1, column 3: expected an escape such as \\n in place of a control character");
  EXPECT_EQ(fault(R"("\x")"), "line 1, column 2: expected an escape such as \\n or \\u00e9");
  EXPECT_EQ(fault("{} x"), "line 1, column 4: expected nothing more");
  EXPECT_EQ(fault(""), "line 1, column 1: expected a value, but the text ends here");
}

// Texts made by damaging valid ones: a fault is found exactly when simdjson's strict parser finds one.
TEST(JsonFault, AgreesWithSimdjson) {
  const std::string_view good = R"( {"a":[1,2.5,-3e2,true,false,null,"x\ny\u0041"],"b":{"c":"d","e":[]},"f":{}} )";
  const std::string_view pieces = "{}[]\",:0123456789.-+eEtrufalsn\\ ";
  std::mt19937 random(20261117);
  simdjson::dom::parser parser;
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text(good);
    for (std::size_t edits = random() % 3 + 1; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.erase(at, 1);
      } else {
        text[at] = pieces[random() % pieces.size()];
      }
    }
    simdjson::dom::element element;
    const auto error = parser.parse(text).get(element);
    // Numbers that do not fit are valid JSON; half of a surrogate pair is not looked for.
    if (error == simdjson::NUMBER_ERROR) continue;
    EXPECT_EQ(find_json_fault(text).has_value(), error != simdjson::SUCCESS) << text << "\n" << error;
    valid += error == simdjson::SUCCESS;
  }
  EXPECT_GT(valid, 100) << "both kinds must occur";
}

}  // namespace
}  // namespace weir::http
