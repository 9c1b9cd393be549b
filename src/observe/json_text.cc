#include "observe/json_text.h"

#include <array>
#include <cstdint>

namespace weir::observe {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

// How many bytes the UTF-8 sequence at the front of `text` takes, or 0 if it is not one. Overlong forms, surrogates
// and values above U+10FFFF are not.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

// C1 controls (U+0080 to U+009F) and the line separators U+2028 and U+2029 move a terminal or break a line too.
bool is_hidden_break(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xC2' && static_cast<std::uint8_t>(sequence[1]) < 0xA0;
  return sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9";
}

void append_unicode_escape(std::string& out, unsigned value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(value >> shift) & 0xF];
}

unsigned code_point(std::string_view sequence) {
  if (sequence.size() == 2) return static_cast<unsigned>((sequence[0] & 0x1F) << 6 | (sequence[1] & 0x3F));
  return static_cast<unsigned>((sequence[0] & 0x0F) << 12 | (sequence[1] & 0x3F) << 6 | (sequence[2] & 0x3F));
}

void append_escaped_ascii(std::string& out, char c, bool json) {
  switch (c) {
    case '"':
    case '\\':
      if (json) out += '\\';
      out += c;
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        append_unicode_escape(out, static_cast<unsigned char>(c));
      } else {
        out += c;
      }
  }
}

void append_characters(std::string& out, std::string_view text, std::size_t budget, bool json) {
  constexpr std::size_t kLongestCharacter = 6;
  const std::size_t start = out.size();
  while (!text.empty()) {
    const std::size_t used = out.size() - start;
    if (budget - used < kLongestCharacter + kEllipsis.size()) {
      out += kEllipsis;
      return;
    }
    const std::size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, length);
    if (length == 0) {
      out += kReplacement;
    } else if (length == 1) {
      append_escaped_ascii(out, text[0], json);
    } else if (is_hidden_break(sequence)) {
      append_unicode_escape(out, code_point(sequence));
    } else {
      out += sequence;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text, std::size_t budget) {
  out += '"';
  append_characters(out, text, budget, true);
  out += '"';
}

void append_plain_line(std::string& out, std::string_view text, std::size_t budget) {
  append_characters(out, text, budget, false);
}

}  // namespace weir::observe
