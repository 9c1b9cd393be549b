#include "base/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::base {
namespace {

std::string json(std::string_view text, std::size_t budget = kNoBudget) {
  std::string out;
  append_json_string(out, text, budget);
  return out;
}

TEST(JsonString, EscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(json("a\"b\\c\n\r\t\x01\x7f"), R"("a\"b\\c\n\r\t\u0001\u007f")");
  EXPECT_EQ(json(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonString, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json("\xff"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(json("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "overlong NUL";
  EXPECT_EQ(json("\xE0\x80\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "overlong";
  EXPECT_EQ(json("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "surrogate";
  EXPECT_EQ(json("\xF4\x90\x80\x80").size(), 2 + 4 * 3u) << "above U+10FFFF";
  EXPECT_EQ(json("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "cut short";
  EXPECT_EQ(json("é€😀"), "\"é€😀\"");
}

TEST(JsonString, EscapesBreaksThatAreNotAscii) {
  EXPECT_EQ(json("\xE2\x80\xA8\xE2\x80\xA9"), R"("\u2028\u2029")");
  EXPECT_EQ(json("\xC2\x9B"), R"("\u009b")") << "the one-byte CSI of terminals";
}

TEST(JsonString, StaysInItsBudgetWhateverTheText) {
  for (std::size_t budget = 9; budget < 60; ++budget) {
    for (const std::string& text : {std::string(100, 'x'), std::string(100, '\x01'), std::string(100, '\xff')}) {
      const std::string out = json(text, budget);
      EXPECT_LE(out.size(), budget + 2);
      EXPECT_TRUE(out.ends_with("…\"")) << out;
    }
  }
}

TEST(JsonString, EscapesAtEveryOffset) {
  for (std::size_t size = 1; size < 30; ++size) {
    EXPECT_EQ(json(std::string(size, 'a')), '"' + std::string(size, 'a') + '"');
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = '"';
      EXPECT_EQ(plain_prefix(text), at);
      EXPECT_EQ(json(text), '"' + std::string(at, 'a') + "\\\"" + std::string(size - at - 1, 'a') + '"');
    }
  }
}

TEST(JsonString, PlainTextIsPrintableAsciiExceptQuoteAndBackslash) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
    EXPECT_EQ(plain_prefix(std::string(1, static_cast<char>(byte))), plain ? 1u : 0u) << byte;
    EXPECT_EQ(plain_prefix(std::string(8, static_cast<char>(byte))), plain ? 8u : 0u) << byte;
  }
}

TEST(JsonString, CutsATextThatIsLongerThanItsBudget) {
  EXPECT_EQ(json("0123456789", 18), "\"0123456789\"") << "10 bytes, and room for one more character and the dots";
  EXPECT_EQ(json("0123456789", 17), "\"012345678…\"");
}

TEST(PlainLine, EscapesControlsButNotQuotes) {
  std::string out;
  append_plain_line(out, "say \"hi\" \\ \n\x1b[2J\xff");
  EXPECT_EQ(out, "say \"hi\" \\ \\n\\u001b[2J\xEF\xBF\xBD");
}

}  // namespace
}  // namespace weir::base
