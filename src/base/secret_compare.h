// Comparing a secret with what a client sent.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::base {

// Takes time that depends only on the length of `given`, so that a client cannot find a secret byte by byte from how
// long the answer takes.
inline bool same_secret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char expected = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(expected);
  }
  return difference == 0;
}

}  // namespace weir::base
