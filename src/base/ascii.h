// ASCII text: case, trimming, hexadecimal and decimal digits, independent of any locale. Pure functions.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::base {

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

inline std::string lowered(std::string text) {
  for (char& c : text) c = lower(c);
  return text;
}

inline bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Without spaces and tabs at both ends. Points into `text` also when nothing is left.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return text.substr(text.size());
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The value of a hexadecimal digit, or -1.
inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

// Writes the first `digits` of the 16 hexadecimal digits of `value` to `out`.
inline void write_hex(char* out, std::uint64_t value, std::size_t digits = 16) {
  for (std::size_t i = 0; i < digits; ++i) out[i] = kHexDigits[value >> (60 - 4 * i) & 0xf];
}

// All 16 of them.
inline std::string hex_text(std::uint64_t value) {
  std::string text(16, '0');
  write_hex(text.data(), value);
  return text;
}

// The two digits of a byte.
inline void append_hex(std::string& out, std::uint8_t byte) {
  out += kHexDigits[byte >> 4];
  out += kHexDigits[byte & 0xf];
}

inline void append_number(std::string& out, std::int64_t value) {
  char digits[20];  // of the lowest number, with its sign
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, static_cast<std::size_t>(end - digits));
}

}  // namespace weir::base
