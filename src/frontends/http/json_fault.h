// Where a JSON text is wrong and what was expected there, for error messages. simdjson says only that a text is
// invalid; this walks over it once more, after a failure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

struct JsonFault {
  std::size_t offset = 0;  // in bytes; text.size() if something is missing at the end
  std::string expected;    // "':' after the name"
};

// Nothing if the text is one JSON value. Takes time and memory in proportion to the text. UTF-8 is not checked.
std::optional<JsonFault> find_json_fault(std::string_view text);

// "line 2, column 7", both from 1; columns are characters. Precondition: offset <= text.size().
std::string line_and_column(std::string_view text, std::size_t offset);

}  // namespace weir::http
