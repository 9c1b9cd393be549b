#include "rules/read/known_fields.h"

#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

constexpr std::string_view kLaterFields[] = {"penalty",  "shedding", "lease",     "period",
                                             "timezone", "grace",    "anchor_day"};

}  // namespace

bool KnownFields::check(const base::YamlNode& node, const std::string& path, std::span<const std::string_view> known) {
  if (!node.is_map()) {
    faults_.add(fault_at(file_, node, path, "is " + describe(node) + ", expected a map of fields"));
    return false;
  }
  for (std::size_t i = 0; i < node.size(); ++i) {
    const std::string& name = node.key(i).text();
    if (contains_name(known, name)) continue;
    const std::string field = path.empty() ? name : path + "." + name;
    if (contains_name(kLaterFields, name)) {
      faults_.add(fault_at(file_, node.key(i), field, kLaterVersion));
    } else {
      faults_.add(fault_at(file_, node.key(i), field,
                           "unknown field" + suggestion(name, known) + ", expected one of " + joined_choices(known)));
    }
  }
  return true;
}

}  // namespace weir::rules
