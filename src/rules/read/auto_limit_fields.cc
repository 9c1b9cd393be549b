#include "rules/read/auto_limit_fields.h"

#include <array>

#include "rules/read/field_values.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

// What cannot be read becomes a valid number, so that one mistake is one line.
void read_bound(const FieldAt& at, std::string_view name, std::int64_t& into) {
  const base::YamlNode* const value = at.node().find(name);
  into = 1;
  if (value == nullptr) {
    at.part(at.node(), name).fault("is missing");
    return;
  }
  const FieldAt part = at.part(*value, name);
  part.take(into, read_whole_number(*value, 1, kMaxConcurrency));
}

}  // namespace

void read_rule_limit(const FieldAt& at, Rule& rule) {
  if (!at.node().is_map()) return read_limit(at, rule.allowance.limit, rule.unlimited);
  constexpr std::array<std::string_view, 1> kWays = {"auto"};
  constexpr std::array<std::string_view, 2> kBounds = {"min", "max"};
  rule.mode = Mode::shadow;
  AutoLimit& bounds = rule.auto_limit.emplace();
  rule.allowance.limit = 1;
  if (!at.has_known_fields(kWays)) return;
  const base::YamlNode* const given = at.node().find("auto");
  if (given == nullptr) return at.fault("is a map without auto, expected a number, unlimited or {auto: {min, max}}");
  const FieldAt part = at.part(*given, "auto");
  if (!part.has_known_fields(kBounds) || !given->is_map()) return;
  read_bound(part, "min", bounds.min);
  read_bound(part, "max", bounds.max);
  rule.allowance.limit = bounds.max;
}

YamlText write_rule_limit(const Rule& rule) {
  if (rule.unlimited) return YamlText::word("unlimited");
  if (!rule.auto_limit) return YamlText::number(rule.allowance.limit);
  YamlText bounds = YamlText::map();
  bounds.add("min", YamlText::number(rule.auto_limit->min));
  bounds.add("max", YamlText::number(rule.auto_limit->max));
  YamlText map = YamlText::map();
  map.add("auto", std::move(bounds));
  return map;
}

}  // namespace weir::rules
