#include "rules/compile/glob.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/address_block.h"

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

bool within(std::string_view block, std::string_view address) {
  const auto parsed = base::AddressBlock::parse(block);
  EXPECT_TRUE(parsed.has_value()) << block;
  return parsed && parsed->contains(address);
}

TEST(AddressBlock, ContainsTheAddressesOfItsPrefix) {
  EXPECT_TRUE(within("10.0.0.0/8", "10.255.0.1"));
  EXPECT_FALSE(within("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(within("192.0.2.128/25", "192.0.2.129"));
  EXPECT_FALSE(within("192.0.2.128/25", "192.0.2.127"));
  EXPECT_TRUE(within("192.0.2.7/24", "192.0.2.9"));  // bits behind the prefix are ignored
  EXPECT_TRUE(within("192.0.2.7/32", "192.0.2.7"));
  EXPECT_FALSE(within("192.0.2.7", "192.0.2.8"));
  EXPECT_TRUE(within("0.0.0.0/0", "203.0.113.5"));
  EXPECT_TRUE(within("2001:db8::/32", "2001:0DB8:1::1"));
  EXPECT_FALSE(within("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(within("2001:db8::1", "2001:DB8:0::1"));
  EXPECT_TRUE(within("::1/128", "::1"));
}

TEST(AddressBlock, TreatsMappedAddressesAsIpv4) {
  EXPECT_TRUE(within("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_TRUE(within("::ffff:10.0.0.0/104", "10.1.2.3"));
  EXPECT_FALSE(within("::/0", "10.1.2.3"));
  EXPECT_FALSE(within("::/0", "::ffff:10.1.2.3"));
  EXPECT_FALSE(within("0.0.0.0/0", "2001:db8::1"));
}

TEST(AddressBlock, RefusesWhatIsNoAddress) {
  for (const char* wrong :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "10.0.0.0/8x", "::/129", "2001:db8::g/32",
        "fe80::1%eth0", "300.0.0.1", "10.0.0.0/8/8", "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111"}) {
    EXPECT_FALSE(base::AddressBlock::parse(wrong).has_value()) << wrong;
  }
  EXPECT_FALSE(within("0.0.0.0/0", ""));
  EXPECT_FALSE(within("0.0.0.0/0", "localhost"));
  EXPECT_FALSE(within("0.0.0.0/0", std::string_view("10.0.0.1\0x", 10)));
  EXPECT_FALSE(within("0.0.0.0/0", std::string(4096, '1')));
}

}  // namespace
}  // namespace weir::rules
