#include "database/postgres/array_text.h"

#include "base/ascii.h"

namespace weir::database {
namespace {

void append_quoted(std::string& array, const std::string& words) {
  array += '"';
  for (const char c : words) {
    if (c == '"' || c == '\\') array += '\\';
    array += c;
  }
  array += '"';
}

}  // namespace

std::string array_text(const Rows& rows, std::size_t column) {
  std::string array = "{";
  for (const Row& row : rows) {
    if (array.size() > 1) array += ',';
    if (const auto* whole = std::get_if<std::int64_t>(&row[column])) {
      base::append_number(array, *whole);
    } else if (const auto* words = std::get_if<std::string>(&row[column])) {
      append_quoted(array, *words);
    } else {
      array += "NULL";
    }
  }
  return array + '}';
}

}  // namespace weir::database
