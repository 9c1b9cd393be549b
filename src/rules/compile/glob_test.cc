#include "rules/compile/glob.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::rules {
namespace {

bool fits(std::string_view pattern, std::string_view value) { return Glob(pattern).matches(value); }

TEST(Glob, AStarIsAnyRunOfCharacters) {
  EXPECT_TRUE(fits("/v1/*", "/v1/"));
  EXPECT_TRUE(fits("/v1/*", "/v1/a/b"));
  EXPECT_FALSE(fits("/v1/*", "/v1"));
  EXPECT_FALSE(fits("/v1/*", "x/v1/"));
  EXPECT_TRUE(fits("*", ""));
  EXPECT_TRUE(fits("**", "abc"));
  EXPECT_TRUE(fits("*.json", ".json"));
  EXPECT_FALSE(fits("*.json", "a.json5"));
  EXPECT_TRUE(fits("a*b*c", "abc"));
  EXPECT_TRUE(fits("a*b*c", "a-bb-b-c"));
  EXPECT_FALSE(fits("a*b*c", "acb"));
  EXPECT_FALSE(fits("ab*ba", "aba"));  // the ends may not overlap
  EXPECT_TRUE(fits("*ab*ab*", "abab"));
  EXPECT_FALSE(fits("*ab*ab*", "aba"));
}

TEST(Glob, AQuestionMarkIsOneCharacterNotOneByte) {
  EXPECT_TRUE(fits("a?c", "abc"));
  EXPECT_TRUE(fits("a?c",
                   "a\xc3\xa9"
                   "c"));
  EXPECT_TRUE(fits("?", "\xf0\x9f\x98\x80"));
  EXPECT_FALSE(fits("??", "\xf0\x9f\x98\x80"));
  EXPECT_FALSE(fits("a?c", "ac"));
  EXPECT_TRUE(fits("*?", "\xc3\xa9"));
  EXPECT_FALSE(fits("*??", "\xc3\xa9"));
  EXPECT_TRUE(fits("*a?b*",
                   "xxa\xc3\xa9"
                   "bxx"));
  EXPECT_FALSE(fits("*a?b*", "xxabxx"));
  EXPECT_TRUE(fits("?*?", "ab"));
  EXPECT_FALSE(fits("?*?", "a"));
}

TEST(Glob, ValuesThatAreNotUtf8AreHarmless) {
  EXPECT_FALSE(fits("a?b", "a\xf0"));
  EXPECT_TRUE(fits("a?", "a\xf0"));
  EXPECT_FALSE(fits("*?x", "\x80\x80\x80"));
  EXPECT_FALSE(fits("?", "\x80\x80"));
}

// Tries every way to place the stars, which is right and slow.
bool fits_slowly(std::string_view pattern, std::string_view value) {
  if (pattern.empty()) return value.empty();
  const std::string_view rest = pattern.substr(1);
  if (pattern.front() != '*') {
    return !value.empty() && (pattern.front() == '?' || pattern.front() == value.front()) &&
           fits_slowly(rest, value.substr(1));
  }
  for (std::size_t taken = 0; taken <= value.size(); ++taken) {
    if (fits_slowly(rest, value.substr(taken))) return true;
  }
  return false;
}

// All texts of at most `longest` of these letters.
std::vector<std::string> texts_of(std::string_view letters, std::size_t longest) {
  std::vector<std::string> texts = {""};
  for (std::size_t first = 0, length = 0; length < longest; ++length) {
    const std::size_t end = texts.size();
    for (; first < end; ++first) {
      for (const char letter : letters) texts.push_back(texts[first] + letter);
    }
  }
  return texts;
}

TEST(Glob, AgreesWithAMatcherThatTriesEverything) {
  const std::vector<std::string> values = texts_of("ab", 5);
  for (const std::string& pattern : texts_of("ab?*", 5)) {
    for (const std::string& value : values) {
      ASSERT_EQ(fits(pattern, value), fits_slowly(pattern, value)) << pattern << " on " << value;
    }
  }
}

// Every way to place the stars would be tried by a matcher that goes back: 10^20 of them.
TEST(Glob, DoesNotExplode) {
  std::string pattern;
  for (int i = 0; i < 64; ++i) pattern += "a*";
  EXPECT_FALSE(fits(pattern + "b", std::string(4096, 'a')));
  EXPECT_FALSE(fits("*" + std::string(500, 'a') + "?b*", std::string(4096, 'a')));
}

}  // namespace
}  // namespace weir::rules
