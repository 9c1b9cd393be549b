// JSON string literals, and lines of text for people, from any bytes.
//
//   std::string out;
//   append_json_string(out, "a \"b\"\n");  // "a \"b\"\n", with its quotes
//
// The output is always valid UTF-8 on one line: control characters are escaped, and bytes that are not UTF-8 become
// U+FFFD. Logs contain text from clients, so this is also what keeps a forged line out of them. Pure functions.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace weir::base {

inline constexpr std::size_t kNoBudget = std::numeric_limits<std::size_t>::max();

// The length of the run at the start of `text` that needs no escape, neither in JSON nor in a structured field
// (RFC 9651): printable ASCII except quote and backslash. Checked a word at a time.
std::size_t plain_prefix(std::string_view text);

// Appends the literal with its quotes: at most 6 bytes for each byte of `text`. At most `budget` bytes (9 or more) are
// written between the quotes: a longer text is cut between two characters and ends in "…".
void append_json_string(std::string& out, std::string_view text, std::size_t budget = kNoBudget);

// The same characters without quotes, for people: quotes and backslashes are not escaped.
void append_plain_line(std::string& out, std::string_view text, std::size_t budget = kNoBudget);

}  // namespace weir::base
