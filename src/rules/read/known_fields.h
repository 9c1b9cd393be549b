// KnownFields: reports what has no business in a map of a rules file: keys that are not known, and those that a later
// version will know. Refers to the fault list it adds to.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/yaml_document.h"
#include "rules/compile/fault_list.h"

namespace weir::rules {

inline constexpr std::string_view kLaterVersion = "not supported by this version of weir yet";

inline bool contains_name(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class KnownFields {
 public:
  KnownFields(std::string_view file, FaultList& faults) : file_(file), faults_(faults) {}

  // `path` names the map: "" or "rules[2]". False when `node` is not a map, which is reported too.
  bool check(const base::YamlNode& node, const std::string& path, std::span<const std::string_view> known);

 private:
  const std::string_view file_;
  FaultList& faults_;
};

}  // namespace weir::rules
