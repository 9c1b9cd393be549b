// The bounds of attributes (weir/request.h), checked and worded once for every front end. Pure functions.
#pragma once

#include <string_view>

#include "weir/request.h"

namespace weir::base {

// What is wrong with the name or the value of an attribute, to be put behind what it is: "is longer than 128 bytes".
// Empty: nothing is wrong.
inline std::string_view attribute_name_fault(std::string_view name) {
  static_assert(kMaxAttributeName == 128);
  if (name.empty()) return "is empty";
  return name.size() > kMaxAttributeName ? "is longer than 128 bytes" : std::string_view();
}

inline std::string_view attribute_value_fault(std::string_view value) {
  static_assert(kMaxAttributeValue == 4096);
  return value.size() > kMaxAttributeValue ? "is longer than 4096 bytes" : std::string_view();
}

inline constexpr std::string_view kTooManyAttributes = "more than 64 attributes";
static_assert(kMaxAttributes == 64);

}  // namespace weir::base
