#include "control/row_text.h"

#include <charconv>
#include <optional>

namespace weir::control {
namespace {

constexpr std::string_view kRowsHead = "weir-rows 1\n";

// The number at the front and the character after it, which are taken away.
std::optional<std::int64_t> take_number(std::string_view& text, char end) {
  std::int64_t number = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(after - text.data());
  if (error != std::errc{} || length >= text.size() || text[length] != end) return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

std::optional<database::Value> take_value(std::string_view& text) {
  const char kind = text.front();
  text.remove_prefix(1);
  if (kind == 'n') return database::Value();
  if (kind == 'i') {
    const auto number = take_number(text, ';');
    return number ? std::optional<database::Value>(*number) : std::nullopt;
  }
  if (kind != 't') return std::nullopt;
  const auto length = take_number(text, ':');
  if (!length || *length < 0 || static_cast<std::uint64_t>(*length) > text.size()) return std::nullopt;
  std::string value(text.substr(0, static_cast<std::size_t>(*length)));
  text.remove_prefix(value.size());
  return database::Value(std::move(value));
}

}  // namespace

std::string write_rows(const database::Rows& rows) {
  std::string out(kRowsHead);
  for (const database::Row& row : rows) {
    for (const database::Value& value : row) {
      if (database::is_null(value)) {
        out += 'n';
      } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        out += 'i' + std::to_string(*number) + ';';
      } else {
        const std::string& text = database::text(value);
        out += 't' + std::to_string(text.size()) + ':' + text;
      }
    }
    out += '\n';
  }
  return out;
}

Result<database::Rows> read_rows(std::string_view text) {
  const Failure damaged{Code::data_loss, "what was kept of the database is damaged"};
  if (!text.starts_with(kRowsHead)) return damaged;
  text.remove_prefix(kRowsHead.size());
  database::Rows rows;
  database::Row row;
  while (!text.empty()) {
    if (text.front() == '\n') {
      text.remove_prefix(1);
      rows.push_back(std::move(row));
      row.clear();
      continue;
    }
    std::optional<database::Value> value = take_value(text);
    if (!value) return damaged;
    row.push_back(std::move(*value));
  }
  if (!row.empty()) return damaged;
  return rows;
}

}  // namespace weir::control
