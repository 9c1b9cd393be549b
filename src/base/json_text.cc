#include "base/json_text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/ascii.h"
#include "base/utf8.h"

namespace weir::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// C1 controls (U+0080 to U+009F) and the line separators U+2028 and U+2029 move a terminal or break a line too.
bool is_hidden_break(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xC2' && static_cast<std::uint8_t>(sequence[1]) < 0xA0;
  return sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9";
}

void append_unicode_escape(std::string& out, unsigned value) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHexDigits[(value >> shift) & 0xF];
}

unsigned code_point(std::string_view sequence) {
  if (sequence.size() == 2) return static_cast<unsigned>((sequence[0] & 0x1F) << 6 | (sequence[1] & 0x3F));
  return static_cast<unsigned>((sequence[0] & 0x0F) << 12 | (sequence[1] & 0x3F) << 6 | (sequence[2] & 0x3F));
}

// A character that is not plain.
void append_escaped_ascii(std::string& out, char c, bool json) {
  if (c == '"' || c == '\\') {
    if (json) out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else {
    append_unicode_escape(out, static_cast<unsigned char>(c));
  }
}

// Appends the character at the front of `text`, which is not plain, and returns how many bytes of `text` it took.
std::size_t append_character(std::string& out, std::string_view text, bool json) {
  const std::size_t length = utf8_sequence(text);
  const std::string_view sequence = text.substr(0, length);
  if (length == 0) {
    out += kReplacement;
    return 1;
  }
  if (length == 1) {
    append_escaped_ascii(out, text[0], json);
  } else if (is_hidden_break(sequence)) {
    append_unicode_escape(out, code_point(sequence));
  } else {
    out += sequence;
  }
  return length;
}

void append_characters(std::string& out, std::string_view text, std::size_t budget, bool json) {
  constexpr std::size_t kLongestCharacter = 6;
  constexpr std::size_t kReserve = kLongestCharacter + kEllipsis.size();
  const std::size_t start = out.size();
  while (!text.empty()) {
    const std::size_t left = budget - (out.size() - start);
    if (left < kReserve) {
      out += kEllipsis;
      return;
    }
    std::size_t taken = std::min(plain_prefix(text), left - kReserve + 1);
    if (taken > 0) {
      out.append(text.data(), taken);
    } else {
      taken = append_character(out, text, json);
    }
    text.remove_prefix(taken);
  }
}

}  // namespace

std::size_t plain_prefix(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x8080808080808080;
  // A high bit in every byte that is zero, and perhaps in bytes above one: enough to know that there is none.
  const auto zeros = [](std::uint64_t word) { return (word - kOnes) & ~word; };
  std::size_t size = 0;
  for (; size + 8 <= text.size(); size += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + size, 8);
    const std::uint64_t odd = word | ((word - kOnes * 0x20) & ~word) | zeros(word ^ (kOnes * '"')) |
                              zeros(word ^ (kOnes * '\\')) | zeros(word ^ (kOnes * 0x7f));
    if ((odd & kHighs) != 0) break;
  }
  while (size < text.size() && is_plain(static_cast<unsigned char>(text[size]))) ++size;
  return size;
}

void append_json_string(std::string& out, std::string_view text, std::size_t budget) {
  out += '"';
  append_characters(out, text, budget, true);
  out += '"';
}

void append_plain_line(std::string& out, std::string_view text, std::size_t budget) {
  append_characters(out, text, budget, false);
}

}  // namespace weir::base
