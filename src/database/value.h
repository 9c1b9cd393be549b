// What goes into and comes out of a database: whole numbers, text, and nothing (NULL). There are no floating-point
// numbers and no times: a time is stored as its microseconds since the Unix epoch.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weir::database {

using Value = std::variant<std::monostate, std::int64_t, std::string>;
using Row = std::vector<Value>;
using Rows = std::vector<Row>;

// Precondition of both: the value is of that kind.
inline std::int64_t number(const Value& value) {
  assert(std::holds_alternative<std::int64_t>(value));
  return std::get<std::int64_t>(value);
}
inline const std::string& text(const Value& value) {
  assert(std::holds_alternative<std::string>(value));
  return std::get<std::string>(value);
}
inline bool is_null(const Value& value) { return std::holds_alternative<std::monostate>(value); }

}  // namespace weir::database
