#include "base/ascii.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace weir::base {
namespace {

TEST(Ascii, ComparesWithoutCase) {
  EXPECT_TRUE(same_ignoring_case("Content-LENGTH", "content-length"));
  EXPECT_FALSE(same_ignoring_case("content-length", "content-lengt"));
  EXPECT_FALSE(same_ignoring_case("[", "{")) << "differ by the bit that letters differ by";
  EXPECT_FALSE(same_ignoring_case("@", "`"));
  EXPECT_FALSE(same_ignoring_case("\xc4", "\xe4")) << "letters only in Latin-1";
  EXPECT_EQ(lowered("AZ az 09 \xc4"), "az az 09 \xc4");
  EXPECT_EQ(upper('q'), 'Q');
  EXPECT_EQ(upper('{'), '{');
}

TEST(Ascii, TrimsSpacesAndTabsOnly) {
  EXPECT_EQ(trimmed(" \t a b\t "), "a b");
  EXPECT_EQ(trimmed("\na\r"), "\na\r");
  const std::string_view blank = " \t";
  EXPECT_EQ(trimmed(blank), "");
  EXPECT_EQ(trimmed(blank).data(), blank.data() + 2) << "callers compute offsets from it";
}

TEST(Ascii, ReadsHexadecimalDigits) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const std::size_t low = std::string_view("0123456789abcdef").find(c);
    const std::size_t high = std::string_view("0123456789ABCDEF").find(c);
    const std::size_t place = low != std::string_view::npos ? low : high;
    EXPECT_EQ(hex_digit(c), place == std::string_view::npos ? -1 : static_cast<int>(place)) << byte;
  }
}

TEST(Ascii, WritesHexadecimalDigitsFromTheTop) {
  std::array<char, 16> text{};
  write_hex(text.data(), 0x0123456789abcdefU);
  EXPECT_EQ(std::string_view(text.data(), 16), "0123456789abcdef");
  text.fill('-');
  write_hex(text.data(), 0xfedcba9876543210U, 4);
  EXPECT_EQ(std::string_view(text.data(), 5), "fedc-");
  std::string bytes;
  append_hex(bytes, 0x0f);
  append_hex(bytes, 0xa0);
  EXPECT_EQ(bytes, "0fa0");
}

TEST(Ascii, AppendsEveryNumber) {
  std::string text;
  append_number(text, std::numeric_limits<std::int64_t>::min());
  text += ' ';
  append_number(text, 0);
  text += ' ';
  append_number(text, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(text, "-9223372036854775808 0 9223372036854775807");
}

}  // namespace
}  // namespace weir::base
