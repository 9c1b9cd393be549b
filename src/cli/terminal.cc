#include "cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "base/json_text.h"
#include "base/utf8.h"

namespace weir::cli {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};

// The blocks whose characters take no column of their own, or two. Good enough to align names; not all of Unicode.
constexpr CodeRange kCombining[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
                                    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
                                    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
constexpr CodeRange kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},  {0x3400, 0x4dbf},
                               {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
                               {0xfe30, 0xfe4f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                               {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <std::size_t N>
bool is_in(const CodeRange (&ranges)[N], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const CodeRange& range) { return range.first <= code && code <= range.last; });
}

char32_t first_code(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte(i) & 0x3fU);
  return code;
}

}  // namespace

std::string Terminal::paint(Colour colour, std::string_view text) const {
  constexpr std::string_view kCodes[] = {"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[1m"};
  if (!coloured) return std::string(text);
  return std::string(kCodes[static_cast<int>(colour)]) + std::string(text) + "\x1b[0m";
}

bool takes_colours(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  return ::isatty(fd) == 1 && (no_color == nullptr || *no_color == '\0') && !dumb;
}

std::string shown(std::string_view text) {
  std::string out;
  base::append_plain_line(out, text);
  return out;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t bytes = base::character_bytes(text);
    const char32_t code = first_code(text.substr(0, bytes));
    if (!is_in(kCombining, code)) columns += is_in(kWide, code) ? 2 : 1;
    text.remove_prefix(bytes);
  }
  return columns;
}

std::string padded(std::string text, std::size_t columns) {
  const std::size_t taken = columns_of(text);
  if (taken < columns) text.append(columns - taken, ' ');
  return text;
}

}  // namespace weir::cli
