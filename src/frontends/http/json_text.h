// Appending JSON and numbers to a string, without streams and without temporaries.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http {

inline void append_number(std::string& out, std::int64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, static_cast<std::size_t>(end - digits));
}

// With quotes. `text` is UTF-8; what it is not is replaced by U+FFFD, so that the answer always is JSON.
void append_json_string(std::string& out, std::string_view text);

// {"type":"about:blank","title":…,"status":…,"detail":…}, RFC 9457.
void append_problem(std::string& out, int status, std::string_view detail);

}  // namespace weir::http
