#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace weir::base {
namespace {

// The encoding's definition, written the other way round: each code point has one spelling.
std::string encoded(std::uint32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xc0 | point >> 6), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, AcceptsEveryCodePointExceptSurrogates) {
  for (std::uint32_t point = 0; point <= 0x10ffff; ++point) {
    const std::string text = encoded(point);
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    ASSERT_EQ(utf8_sequence(text), surrogate ? 0 : text.size()) << point;
    ASSERT_EQ(utf8_sequence(text + "x"), surrogate ? 0 : text.size()) << point;
    for (std::size_t cut = 1; cut < text.size(); ++cut) ASSERT_EQ(utf8_sequence(text.substr(0, cut)), 0u) << point;
  }
}

TEST(Utf8, RejectsOverlongFormsAndCodePointsBeyondUnicode) {
  for (const char* text : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
                           "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3(", "\xe2\x82("}) {
    EXPECT_EQ(utf8_sequence(text), 0u);
    EXPECT_FALSE(is_utf8(text));
    EXPECT_EQ(valid_text_prefix(text), 0u);
  }
}

TEST(Utf8, FindsAMalformedByteAtEveryOffset) {
  for (std::size_t size = 1; size < 40; ++size) {
    EXPECT_TRUE(is_utf8(std::string(size, 'a')));
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = '\xff';
      EXPECT_FALSE(is_utf8(text)) << at << " of " << size;
      EXPECT_EQ(valid_text_prefix(text), at);
    }
  }
}

TEST(Utf8, OnlyValidTextPrefixStopsAtNul) {
  const std::string_view text("ab\0cd", 5);
  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(valid_text_prefix(text), 2u);
  EXPECT_EQ(valid_text_prefix("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), 9u);
  EXPECT_TRUE(is_utf8(""));
  EXPECT_EQ(valid_text_prefix(""), 0u);
}

}  // namespace
}  // namespace weir::base
