#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace weir::base {
namespace {

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

std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
  if (first == 0xed && byte(1) > 0x9f) return 0;  // a surrogate
  if (first == 0xf0 && byte(1) < 0x90) return 0;  // overlong
  if (first == 0xf4 && byte(1) > 0x8f) return 0;  // above U+10FFFF
  return length;
}

bool is_utf8(std::string_view text) {
  for (text.remove_prefix(ascii_words(text)); !text.empty();) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::size_t valid_text_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] != '\0') {
    const std::size_t length = utf8_sequence(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

}  // namespace weir::base
