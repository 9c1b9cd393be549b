// Json: a JSON document as a small tree, for the bodies of admin requests. Bounded in depth; an object with the same
// member twice is refused. A value; no part of it refers to the text it was read from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weir/result.h"

namespace weir::admin {

class Json {
 public:
  static constexpr int kMaxDepth = 16;

  struct Null {};
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of the text

  Json() = default;
  template <typename T>
  explicit Json(T value) : value_(std::move(value)) {}

  // An object. The failure says what is wrong, and where if the text is not JSON.
  static Result<Json> parse_object(std::string_view text);

  // Null if it is of another kind. A whole number is an int64, any other number a double.
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const std::int64_t* whole() const { return std::get_if<std::int64_t>(&value_); }
  const double* fraction() const { return std::get_if<double>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  bool is_null() const { return std::holds_alternative<Null>(value_); }

  // "a text", "a number" …
  std::string_view kind() const;

 private:
  std::variant<Null, bool, std::int64_t, double, std::string, Array, Object> value_;
};

}  // namespace weir::admin
