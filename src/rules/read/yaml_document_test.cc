#include "base/yaml_document.h"

#include <gtest/gtest.h>

#include <string>

#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

std::string error_of(const std::string& text) {
  const Result<base::YamlDocument> document = base::YamlDocument::parse(text, "f.yaml");
  return document.ok() ? "ok" : document.failure().message;
}

base::YamlDocument parsed(const std::string& text) {
  Result<base::YamlDocument> document = base::YamlDocument::parse(text, "f.yaml");
  EXPECT_TRUE(document.ok()) << document.failure().message;
  return std::move(document).value();
}

TEST(YamlDocument, KnowsLineAndColumnOfEveryNode) {
  const base::YamlDocument document = parsed("a: 1\nb:\n  - x\n  - {c: 'two words'}\n");
  const base::YamlNode& root = document.root();
  ASSERT_TRUE(root.is_map());
  EXPECT_EQ(root.size(), 2u);
  EXPECT_EQ(root.find("a")->text(), "1");
  EXPECT_EQ(root.find("a")->line(), 1);
  EXPECT_EQ(root.find("a")->column(), 4);
  const base::YamlNode& b = *root.find("b");
  ASSERT_TRUE(b.is_sequence());
  EXPECT_EQ(b.item(0).line(), 3);
  EXPECT_EQ(b.item(0).column(), 5);
  EXPECT_EQ(b.item(1).find("c")->text(), "two words");
  EXPECT_EQ(b.item(1).find("c")->line(), 4);
  EXPECT_EQ(b.item(1).find("c")->column(), 9);
  EXPECT_EQ(root.find("absent"), nullptr);
}

TEST(YamlDocument, ReadsJsonWithTheRightPositions) {
  const base::YamlDocument document = parsed("{\"a\": 1,\n \"b\": [true]}");
  EXPECT_EQ(document.root().column(), 1);
  EXPECT_EQ(document.root().find("a")->column(), 7);
  EXPECT_EQ(document.root().find("b")->item(0).line(), 2);
  EXPECT_EQ(document.root().find("b")->item(0).column(), 8);
  EXPECT_EQ(error_of("{a: 1, a: 2}"), "f.yaml:1:8: the key \"a\" is given twice");
}

TEST(YamlDocument, ReadsJsonLargerThanTheReadAhead) {
  std::string text = "{\"list\": [";
  while (text.size() < base::kMaxYamlReadAhead * 5 / 4) text += "{\"id\": \"some-rule\", \"limit\": 100},\n";
  text += "{}]}";
  EXPECT_TRUE(parsed(text).root().find("list")->is_sequence());
}

TEST(YamlDocument, AnEmptyTextIsANullNode) {
  EXPECT_EQ(parsed("").root().kind(), base::YamlNode::Kind::null);
  EXPECT_EQ(parsed("# nothing\n").root().kind(), base::YamlNode::Kind::null);
}

TEST(YamlDocument, RefusesWhatWouldBeAmbiguous) {
  EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"), "f.yaml:3:1: the key \"a\" is given twice");
  EXPECT_EQ(error_of("? [x]\n: 1\n"), "f.yaml:1:3: a key must be a text");
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"), "f.yaml:2:1: a second document begins here, expected one");
  EXPECT_EQ(error_of("a: !!binary aGk=\n"), "f.yaml:1:4: tags are not supported");
  EXPECT_EQ(error_of(std::string("a: \"x\\0y\"\n")), "f.yaml:1:4: a text must not contain NUL");
  EXPECT_EQ(error_of(std::string("a: 1\nb: \0", 9)), "f.yaml:2:4: NUL byte");
  EXPECT_EQ(error_of("a: 1\nbc: \xff\n"), "f.yaml:2:5: not valid UTF-8");
  EXPECT_EQ(error_of("a: \xed\xa0\x80"), "f.yaml:1:4: not valid UTF-8");  // a surrogate
  EXPECT_EQ(error_of("a: \xc0\xaf"), "f.yaml:1:4: not valid UTF-8");      // an overlong slash
  EXPECT_EQ(error_of("a: [1, 2\nb: 3\n").substr(0, 7), "f.yaml:");
  EXPECT_EQ(error_of("a: *nowhere\n").substr(0, 11), "f.yaml:1:4:");
}

TEST(YamlDocument, AnAliasSharesTheNodeOfItsAnchor) {
  const base::YamlDocument document = parsed("a: &x {n: 1}\nb: *x\n");
  EXPECT_EQ(document.root().find("a"), document.root().find("b"));
}

TEST(YamlDocument, MergesMapsWhereTheMapHasNoEntryOfItsOwn) {
  const base::YamlDocument document =
      parsed("a: &a {x: 1, y: 2}\nb: &b\n  y: 3\n  <<: *a\nc: {<<: [{x: 7, z: 8}, *b], y: 9}\n");
  const base::YamlNode& b = *document.root().find("b");
  ASSERT_EQ(b.size(), 2u);
  EXPECT_EQ(b.find("x")->text(), "1");
  EXPECT_EQ(b.find("x")->line(), 1);
  EXPECT_EQ(b.find("y")->text(), "3");
  const base::YamlNode& c = *document.root().find("c");
  ASSERT_EQ(c.size(), 3u);
  EXPECT_EQ(c.find("x")->text(), "7");
  EXPECT_EQ(c.find("y")->text(), "9");
  EXPECT_EQ(c.find("z")->text(), "8");
  EXPECT_EQ(error_of("a: {<<: [x]}\n"), "f.yaml:1:5: << merges a map or a list of maps into this one");
  EXPECT_EQ(error_of("a: &a {<<: *a}\n"), "f.yaml:1:12: this alias is inside the node that it refers to");
}

TEST(YamlDocument, RefusesAnAliasInsideItsAnchor) {
  EXPECT_EQ(error_of("a: &x [1, *x]\n"), "f.yaml:1:11: this alias is inside the node that it refers to");
  EXPECT_EQ(error_of("&r {a: {b: *r}}\n"), "f.yaml:1:12: this alias is inside the node that it refers to");
}

TEST(YamlDocument, RefusesAnAliasBomb) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) text += ", " + before;
    text += "]\n";
  }
  EXPECT_EQ(error_of(text), "f.yaml:7:10: too large: more than 2000000 values, aliases counted at each use");
}

TEST(YamlDocument, CountsTheDepthOfAliases) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_EQ(error_of(text), "f.yaml:31:12: nested too deeply, expected at most 32 levels");
}

TEST(YamlDocument, RefusesDeepNesting) {
  const std::string expected = ": nested too deeply, expected at most 32 levels";
  const auto ends_well = [&](const std::string& message) { return message.ends_with(expected); };
  EXPECT_EQ(error_of(std::string(32, '[') + std::string(32, ']')), "ok");
  EXPECT_EQ(error_of(std::string(33, '[') + std::string(33, ']')), "f.yaml:1:33" + expected);
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  EXPECT_TRUE(ends_well(error_of(dashes + "x")));
}

// Each would take the parser gigabytes if it were let.
TEST(YamlDocument, BoundsWhatTheParserHoldsInMemory) {
  const std::string expected = "the value that follows is longer than 1048576 bytes";
  for (const char* unit : {"[", "\"]\",["}) {
    std::string text = "[";
    while (text.size() < 8 * base::kMaxYamlReadAhead) text += unit;
    const std::string message = error_of(text);
    EXPECT_NE(message, "ok");
    EXPECT_LT(message.size(), 200u);
  }
  EXPECT_EQ(error_of("a: " + std::string(2 * base::kMaxYamlReadAhead, 'x')), "f.yaml:1:4: " + expected);
  EXPECT_EQ(error_of(std::string(base::kMaxYamlBytes + 1, 'x')),
            "f.yaml:1:1: too large: 16777217 bytes, expected at most 16777216");
}

TEST(YamlDocument, CountsNodesAndAliasesTogether) {
  std::string text = "a: &a [x, x, x]\nb: &b [";
  for (int i = 0; i < 999; ++i) text += "*a, ";
  text += "*a]\nc:\n";
  for (int i = 0; i < 498; ++i) text += "- *b\n";  // 4,001 nodes each
  EXPECT_EQ(error_of(text), "ok");
  EXPECT_EQ(error_of(text + "- *b\n"),
            "f.yaml:502:3: too large: more than 2000000 values, aliases counted at each use");
}

std::string value_error(const std::string& value, auto read) {
  const base::YamlDocument document = parsed("v: " + value + "\n");
  const auto result = read(*document.root().find("v"));
  return result.ok() ? "ok" : result.failure().message;
}

TEST(YamlValues, ReadsDurations) {
  const auto micros_of = [](const char* text) { return parse_duration(text).value().count(); };
  EXPECT_EQ(micros_of("5us"), 5);
  EXPECT_EQ(micros_of("5ms"), 5'000);
  EXPECT_EQ(micros_of("60s"), 60'000'000);
  EXPECT_EQ(micros_of("2m"), 120'000'000);
  EXPECT_EQ(micros_of("1h"), 3'600'000'000);
  EXPECT_EQ(micros_of("7d"), 604'800'000'000);
  for (const char* wrong : {"", "60", "s", "1.5h", "-1s", "+1s", "1 s", "1S", "1sec", "0x10s", "1h30m"}) {
    const Result<Duration> duration = parse_duration(wrong);
    ASSERT_FALSE(duration.ok()) << wrong;
    EXPECT_EQ(duration.failure().message,
              "is \"" + std::string(wrong) + "\", expected a whole number and ms, s, m, h or d, as in 60s");
  }
  EXPECT_EQ(parse_duration("999999999999d").failure().message, "is \"999999999999d\", which is too long");
  EXPECT_FALSE(parse_duration("99999999999999999999s").ok());
  EXPECT_EQ(value_error("[60s]", read_duration), "is a list, expected a whole number and ms, s, m, h or d, as in 60s");
}

TEST(YamlValues, ReadsInstants) {
  const auto at = [](const char* text) { return micros(parse_instant(text).value()); };
  EXPECT_EQ(at("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(at("2026-12-31T00:00:00Z"), 1'798'675'200'000'000);
  EXPECT_EQ(at("2026-12-31T01:30:00+01:30"), at("2026-12-31T00:00:00Z"));
  EXPECT_EQ(at("2026-12-30T19:00:00-05:00"), at("2026-12-31T00:00:00Z"));
  EXPECT_EQ(at("1970-01-01T00:00:00.5Z"), 500'000);
  EXPECT_EQ(at("1970-01-01T00:00:00.1234567Z"), 123'456);
  EXPECT_EQ(at("2024-02-29t00:00:00z"), at("2024-02-29T00:00:00Z"));
  for (const char* wrong : {"", "2026-12-31", "2026-12-31T00:00:00", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
                            "2026-12-31T24:00:00Z", "2026-12-31T00:60:00Z", "2026-12-31 00:00:00Z",
                            "2026-12-31T00:00:00.Z", "2026-12-31T00:00:00+0100", "2026-12-31T00:00:00Zz", "tomorrow"}) {
    EXPECT_FALSE(parse_instant(wrong).ok()) << wrong;
  }
}

TEST(YamlValues, ReadsNumbersAndBooleansStrictly) {
  const auto number = [](const base::YamlNode& node) { return read_whole_number(node, 0, 100); };
  EXPECT_EQ(value_error("42", number), "ok");
  EXPECT_EQ(value_error("0", number), "ok");
  EXPECT_EQ(value_error("010", number), "is \"010\", expected a whole number, 0 to 100");
  EXPECT_EQ(value_error("101", number), "is 101, expected 0 to 100");
  EXPECT_EQ(value_error("-1", number), "is -1, expected 0 to 100");
  EXPECT_EQ(value_error("1.5", number), "is \"1.5\", expected a whole number, 0 to 100");
  EXPECT_EQ(value_error("99999999999999999999", number),
            "is \"99999999999999999999\", expected a whole number, 0 to 100");
  EXPECT_EQ(value_error("", number), "is empty, expected a whole number, 0 to 100");
  EXPECT_EQ(value_error("true", read_bool), "ok");
  EXPECT_EQ(value_error("yes", read_bool), "is \"yes\", expected true or false");
  EXPECT_EQ(value_error("{a: 1}", read_text), "is a map, expected a text");
}

// Few keys are compared one by one and many through a table; a map may pass from the one to the other.
TEST(YamlDocument, FindsAKeyGivenTwiceInSmallAndLargeMaps) {
  for (int count = 1; count < 40; ++count) {
    for (const bool alias : {false, true}) {  // with one, yaml-cpp reads the text
      std::string text = alias ? "x: &x 1\ny: *x\n" : "";
      for (int i = 0; i < count; ++i) text += "key" + std::to_string(i) + ": 1\n";
      EXPECT_TRUE(base::YamlDocument::parse(text, "f").ok()) << text;
      for (const int again : {0, count / 2, count - 1}) {
        const std::string twice = text + "key" + std::to_string(again) + ": 2\n";
        const auto refused = base::YamlDocument::parse(twice, "f");
        ASSERT_FALSE(refused.ok()) << twice;
        EXPECT_EQ(refused.failure().message, "f:" + std::to_string(count + (alias ? 3 : 1)) + ":1: the key \"key" +
                                                 std::to_string(again) + "\" is given twice");
      }
    }
  }
}

TEST(YamlDocument, MergesIntoMapsOfAnySizeWithoutAKeyTwice) {
  for (int own = 0; own < 20; ++own) {
    for (int merged = 1; merged < 20; ++merged) {
      std::string text = "a: &a {";
      for (int i = 0; i < merged; ++i) text += (i > 0 ? ", k" : "k") + std::to_string(i) + ": a";
      text += "}\nb: &b {k0: b, k" + std::to_string(merged) + ": b}\nc:\n  <<: [*a, *b]\n";
      for (int i = 0; i < own; ++i) text += "  own" + std::to_string(i) + ": c\n";
      const auto document = base::YamlDocument::parse(text, "f");
      ASSERT_TRUE(document.ok()) << document.failure().message;
      const base::YamlNode& map = *document.value().root().find("c");
      EXPECT_EQ(map.size(), static_cast<std::size_t>(own + merged + 1)) << text;
      EXPECT_EQ(map.find("k0")->text(), "a");
    }
  }
}

}  // namespace
}  // namespace weir::rules
