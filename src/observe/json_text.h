// append_json_string: a JSON string literal from any bytes.
//
// Whatever comes in, what goes out is valid UTF-8 on one line: control characters are escaped, and bytes that are not
// UTF-8 become U+FFFD. Logs carry text from strangers, so this is also what keeps a forged line out of them.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace weir::observe {

inline constexpr std::size_t kNoBudget = std::numeric_limits<std::size_t>::max();

// Appends the literal with its quotes. At most `budget` bytes (9 or more) are spent between the quotes: a text that
// comes near is cut between two characters and ends in "…".
void append_json_string(std::string& out, std::string_view text, std::size_t budget = kNoBudget);

// The same characters without quotes, for people: quotes and backslashes stay as they are.
void append_plain_line(std::string& out, std::string_view text, std::size_t budget = kNoBudget);

}  // namespace weir::observe
