// UTF-8: checks and steps over characters. Pure functions. Overlong forms, surrogates and code points above U+10FFFF
// are not UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::base {

// How many bytes the well-formed character at the front takes, 1 to 4; 0 if it is malformed or cut short. NUL is a
// character of one byte. Precondition: text is not empty.
std::size_t utf8_sequence(std::string_view text);

// How many leading bytes of `text` are well-formed UTF-8 without NUL: text.size() when all are.
std::size_t valid_text_prefix(std::string_view text);

// Valid UTF-8, NUL included, as proto3 demands of every `string`. ASCII is checked a word at a time.
bool is_utf8(std::string_view text);

// How many bytes the character at the front takes, judged by its first byte alone; 1 for a byte that begins none.
// Precondition: text is not empty.
inline std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t wanted = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return wanted <= text.size() ? wanted : 1;
}

}  // namespace weir::base
