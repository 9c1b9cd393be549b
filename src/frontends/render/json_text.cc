#include "frontends/render/json_text.h"

namespace weir::render {
namespace {

bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void append_escaped(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c == 0x7f) {
    out += '\x7f';
  } else {
    out += "\\u00";
    out += kHex[c >> 4];
    out += kHex[c & 15];
  }
}

}  // namespace

std::size_t utf8_sequence(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const int first = at(0);
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && at(1) < 0xa0;
    const bool surrogate = first == 0xed && at(1) >= 0xa0;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && at(1) < 0x90;
    const bool beyond = first == 0xf4 && at(1) >= 0x90;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

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

void RoomWriter::json_string(std::string_view string) {
  if (plain_prefix(string) == string.size()) {
    literal("\"");
    text(string);
    literal("\"");
    return;
  }
  std::string escaped;
  append_json_string(escaped, string);
  text(escaped);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = plain_prefix(text);
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text.front());
    if (c < 0x80) {
      append_escaped(out, c);
      text.remove_prefix(1);
      continue;
    }
    const std::size_t sequence = utf8_sequence(text);
    if (sequence == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
    } else {
      out.append(text.data(), sequence);
      text.remove_prefix(sequence);
    }
  }
  out += '"';
}

}  // namespace weir::render
