#include "base/base64url.h"

#include <cstdint>

namespace weir::base {
namespace {

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  if (c == '_') return 63;
  return -1;
}

}  // namespace

std::optional<std::string> decode_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t held = 0;
  int held_bits = 0;
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) return std::nullopt;
    held = held << 6 | static_cast<std::uint32_t>(value);
    held_bits += 6;
    if (held_bits >= 8) {
      held_bits -= 8;
      bytes += static_cast<char>(held >> held_bits & 0xff);
      held &= (1u << held_bits) - 1;
    }
  }
  if (held != 0) return std::nullopt;
  return bytes;
}

std::string encode_base64url(std::string_view bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text((bytes.size() * 4 + 2) / 3, '\0');
  std::size_t at = 0;
  std::uint32_t held = 0;
  int held_bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (held_bits += 8; held_bits >= 6;) {
      held_bits -= 6;
      text[at++] = kAlphabet[held >> held_bits & 63];
    }
    held &= (1u << held_bits) - 1;
  }
  if (held_bits > 0) text[at] = kAlphabet[held << (6 - held_bits) & 63];
  return text;
}

}  // namespace weir::base
