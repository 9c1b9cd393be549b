#include "rules/read/rule_summary.h"

#include "rules/compile/slice_terms.h"
#include "rules/read/yaml_text.h"

namespace weir::rules {

std::string window_text(Duration window) {
  std::string text;
  YamlText::duration(window).write_value(text, 0);
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? text : text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

std::string rule_summary(const Rule& rule) {
  if (rule.unlimited) return "unlimited";
  const AllowanceSpec& allowance = rule.allowance;
  if (rule.auto_limit) {
    return std::to_string(rule.auto_limit->min) + " to " + std::to_string(rule.auto_limit->max) +
           " at a time, adapting, lease " + window_text(rule.lease);
  }
  if (rule.kind == ChargeKind::lease) {
    return std::to_string(allowance.limit) + " at a time, lease " + window_text(rule.lease);
  }
  if (rule.kind != ChargeKind::bucket) {
    return std::to_string(allowance.limit) + " units, " + std::string(charge_kind_name(rule.kind));
  }
  const std::string counted = rule.distinct.empty() ? "" : " different values of " + rule.distinct;
  std::string text = std::to_string(allowance.limit) + counted + " per " + window_text(allowance.window);
  if (allowance.burst) text += ", burst " + std::to_string(*allowance.burst);
  if (allowance.queue) text += ", queue " + std::to_string(*allowance.queue);
  text += ", " + std::string(algorithm_name(allowance.algorithm));
  if (rule.consistency != Consistency::synced) return text;
  const std::int64_t capacity = allowance.burst.value_or(allowance.limit);
  return text + ", synced: up to " + std::to_string(tolerance_of(rule).of(capacity)) + " more";
}

}  // namespace weir::rules
