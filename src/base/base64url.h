// base64url without padding (RFC 7515, appendix C), decoded strictly: one text for each sequence of bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::base {

// nullopt for padding, characters outside the alphabet, impossible lengths, and stray bits in the last character.
std::optional<std::string> decode_base64url(std::string_view text);

std::string encode_base64url(std::string_view bytes);

}  // namespace weir::base
