#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace weir::base {
namespace {

struct Lead {
  std::size_t bytes;     // of the whole character; 0: cannot begin one
  std::uint32_t bits;    // of the code point, from the first byte
  std::uint32_t lowest;  // code point that needs this many bytes
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 1};  // 1: NUL is refused
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, byte & 0x1fU, 0x80};
  if (byte < 0xf0) return {3, byte & 0x0fU, 0x800};
  if (byte < 0xf5) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

// How many leading bytes of `text` are ASCII, in whole words.
std::size_t ascii_words(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & kHighBits) != 0) break;
  }
  return at;
}

}  // namespace

bool is_utf8(std::string_view text) {
  text.remove_prefix(ascii_words(text));
  while (!text.empty()) {
    const std::size_t valid = valid_text_prefix(text);
    if (valid == text.size()) return true;
    if (text[valid] != '\0') return false;
    text.remove_prefix(valid + 1);
  }
  return true;
}

std::size_t valid_text_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
    if (lead.bytes == 0 || at + lead.bytes > text.size()) return at;
    std::uint32_t point = lead.bits;
    for (std::size_t i = 1; i < lead.bytes; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      if ((byte & 0xc0) != 0x80) return at;
      point = point << 6 | (byte & 0x3fU);
    }
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    if (point < lead.lowest || point > 0x10ffff || surrogate) return at;
    at += lead.bytes;
  }
  return at;
}

}  // namespace weir::base
