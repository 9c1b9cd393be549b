// Percent-encoding of URLs (RFC 3986).
#pragma once

#include <string>
#include <string_view>

#include "base/ascii.h"

namespace weir::base {

// Appends the decoded text. False: an escape is not two hexadecimal digits.
inline bool decode_percent(std::string_view encoded, std::string& out) {
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      out += encoded[i];
      continue;
    }
    if (encoded.size() - i < 3) return false;
    const int high = hex_digit(encoded[i + 1]);
    const int low = hex_digit(encoded[i + 2]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

}  // namespace weir::base
