// base64url without padding (RFC 7515, appendix C), decoded strictly: one text for each sequence of bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::base {

// nullopt for padding, characters outside the alphabet, impossible lengths, and stray bits in the last character.
std::optional<std::string> decode_base64url(std::string_view text);

std::string encode_base64url(std::string_view bytes);

// The same into room of the caller's, without allocating. What is written beyond the result is without meaning.
constexpr std::size_t base64url_size(std::size_t bytes) { return (bytes * 4 + 2) / 3; }
inline constexpr std::size_t kBase64urlSlack = 8;
// The number of bytes. `out` has room for text.size() * 3 / 4 + kBase64urlSlack.
std::optional<std::size_t> decode_base64url(std::string_view text, char* out);
// `out` has room for base64url_size(bytes.size()), and `bytes` can be read for kBase64urlSlack more.
void encode_base64url(std::string_view bytes, char* out);

}  // namespace weir::base
