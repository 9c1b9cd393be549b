#include "rules/read/rule_reader.h"

#include <utility>

#include "rules/read/known_fields.h"
#include "rules/read/rule_fields.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

// The fields that make_allowance looks at, whose errors depend on the algorithm.
constexpr std::string_view kAllowanceFields[] = {"limit", "window", "burst", "queue", "buckets", "lease", "period"};

std::span<const std::string_view> rule_field_names() {
  static const std::vector<std::string_view> kNames = field_names(rule_fields());
  return kNames;
}

}  // namespace

RuleReader::RuleReader(std::string_view file, FaultList& faults, const base::YamlNode& node,
                       const base::YamlNode* defaults, std::string path)
    : scope_{.file = file, .faults = faults, .path = std::move(path)}, node_(node), defaults_(defaults) {}

Rule RuleReader::read() {
  Rule rule;
  if (!KnownFields(scope_.file, scope_.faults).check(node_, scope_.path, rule_field_names())) return rule;
  read_fields(rule);
  require("id", "a name for the rule");
  require("limit", "how much passes in one window, or unlimited");
  if (!rule.unlimited && rule.kind == ChargeKind::bucket) require("window", "a duration such as 60s");
  if (!rule.unlimited && rule.kind == ChargeKind::lease) require("lease", "a duration such as 30s");
  if (may_answer(rule, FailurePolicy::static_limit)) require("static_limit", "a number, for static");
  check(rule);
  return rule;
}

void RuleReader::refine(Rule& rule, std::span<const std::string_view> allowed) {
  if (KnownFields(scope_.file, scope_.faults).check(node_, scope_.path, allowed)) read_fields(rule);
}

void RuleReader::read_defaults() {
  const auto known = rule_field_names().subspan(1);  // not the id
  Rule scratch;
  if (KnownFields(scope_.file, scope_.faults).check(node_, scope_.path, known)) read_fields(scratch);
}

void RuleReader::read_fields(Rule& rule) {
  for (const Field<Rule>& field : rule_fields()) {
    if (const base::YamlNode* own = node_.find(field.name)) {
      field.read(FieldAt(scope_, *own, field.name), rule);
    } else if (defaults_ != nullptr) {
      const base::YamlNode* inherited = defaults_->find(field.name);
      if (inherited != nullptr) field.read(FieldAt(scope_, *inherited, field.name, true), rule);
    }
  }
}

bool RuleReader::has(std::string_view name) const {
  return node_.find(name) != nullptr || (defaults_ != nullptr && defaults_->find(name) != nullptr);
}

void RuleReader::require(std::string_view name, std::string_view expected) {
  if (!has(name)) FieldAt(scope_, node_, name).fault("is missing, expected " + std::string(expected));
}

void RuleReader::check(const Rule& rule) {
  for (const RuleFault& found : check_rule(rule)) {
    if (follows_from_unreadable(found.field)) continue;
    const bool inherited = !found.field.empty() && node_.find(found.field.front().name) == nullptr &&
                           defaults_ != nullptr && defaults_->find(found.field.front().name) != nullptr;
    std::string path = inherited ? "defaults" : scope_.path;
    if (!found.field.empty()) path += "." + to_string(found.field);
    scope_.faults.add(fault_at(scope_.file, locate(inherited ? *defaults_ : node_, found.field), path, found.what));
  }
}

bool RuleReader::follows_from_unreadable(const FieldPath& path) const {
  if (path.empty()) return false;
  const std::string& name = path.back().name;
  return scope_.unreadable.contains(name) ||
         (contains_name(kAllowanceFields, name) && scope_.unreadable.contains("algorithm"));
}

const base::YamlNode& locate(const base::YamlNode& from, const FieldPath& path) {
  const base::YamlNode* found = &from;
  for (const FieldStep& step : path) {
    const base::YamlNode* next = nullptr;
    if (!step.name.empty()) {
      next = found->find(step.name);
    } else if (found->is_sequence() && step.index < found->size()) {
      next = &found->item(step.index);
    }
    if (next == nullptr) break;
    found = next;
  }
  return *found;
}

}  // namespace weir::rules
