#include "rules/compile/rule_check.h"

#include <algorithm>
#include <unordered_set>

#include "base/utf8.h"
#include "rules/compile/conditions.h"
#include "rules/compile/descriptor_tree.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/name_table.h"
#include "weir/request.h"

namespace weir::rules {
namespace {

std::string range(std::int64_t least, std::int64_t most) {
  return std::to_string(least) + " to " + std::to_string(most);
}

// Collects what is wrong with one rule.
class RuleChecker {
 public:
  explicit RuleChecker(const Rule& rule) : rule_(rule) {}

  std::vector<RuleFault> run() {
    if (!is_rule_id(rule_.id)) {
      add({"id"}, "is " + in_quotes(rule_.id) + ", expected 1 to " + std::to_string(kMaxRuleId) +
                      " letters, digits, '.', '_' or '-'");
    }
    check_conditions({"match"}, rule_.match);
    check_per();
    check_descriptor();
    check_allowance({}, {});
    check_cost();
    check_plans();
    for (std::size_t i = 0; i < rule_.overrides.size(); ++i) check_override(i);
    check_policies();
    if (rule_.local_limit) check_spec({"local_limit"}, local_limit_spec(*rule_.local_limit));
    return std::move(faults_);
  }

 private:
  void add(FieldPath field, std::string what) { faults_.push_back({std::move(field), std::move(what)}); }

  void check_number(FieldPath field, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    add(std::move(field), "is " + std::to_string(value) + ", expected " + range(least, most));
  }

  void check_name(FieldPath field, const std::string& name) {
    if (is_attribute_name(name)) return;
    add(std::move(field), "is " + in_quotes(name) + ", expected the name of an attribute, 1 to " +
                              std::to_string(kMaxAttributeName) + " bytes without control characters");
  }

  void check_conditions(const FieldPath& field, const std::vector<Condition>& conditions) {
    if (conditions.size() > kMaxConditions) {
      add(field, "has " + std::to_string(conditions.size()) + " conditions, expected at most " +
                     std::to_string(kMaxConditions));
      return;
    }
    for (const Condition& condition : conditions) {
      FieldPath at = field;
      at.emplace_back(condition.attribute);
      check_name(at, condition.attribute);
      if (const Status status = check_condition(condition); !status.ok()) add(at, status.failure().message);
    }
  }

  void check_per() {
    if (rule_.per.size() > kMaxPer) {
      add({"per"},
          "has " + std::to_string(rule_.per.size()) + " attributes, expected at most " + std::to_string(kMaxPer));
      return;
    }
    for (std::size_t i = 0; i < rule_.per.size(); ++i) {
      check_name({"per", FieldStep(i)}, rule_.per[i]);
      if (std::find(rule_.per.begin(), rule_.per.begin() + static_cast<std::ptrdiff_t>(i), rule_.per[i]) !=
          rule_.per.begin() + static_cast<std::ptrdiff_t>(i)) {
        add({"per", FieldStep(i)}, "names " + in_quotes(rule_.per[i]) + " a second time");
      }
    }
  }

  void check_descriptor() {
    if (rule_.descriptor.size() > kMaxAttributes) {
      add({"descriptor"}, "has " + std::to_string(rule_.descriptor.size()) + " entries, expected at most " +
                              std::to_string(kMaxAttributes));
      return;
    }
    for (std::size_t i = 0; i < rule_.descriptor.size(); ++i) {
      const DescriptorEntry& entry = rule_.descriptor[i];
      check_name({"descriptor", FieldStep(i)}, entry.key);
      if (entry.value) check_value({"descriptor", FieldStep(i)}, *entry.value);
    }
    // What a descriptor does not carry can be neither counted by nor asked for.
    const auto carried = [this](const std::string& name) {
      return rule_.descriptor.empty() || std::any_of(rule_.descriptor.begin(), rule_.descriptor.end(),
                                                     [&](const DescriptorEntry& entry) { return entry.key == name; });
    };
    for (std::size_t i = 0; i < rule_.per.size(); ++i) {
      if (!carried(rule_.per[i]))
        add({"per", FieldStep(i)}, "names " + in_quotes(rule_.per[i]) + ", which the descriptor has not");
    }
    if (rule_.replaces.size() > kMaxReplaces) {
      add({"replaces"},
          "has " + std::to_string(rule_.replaces.size()) + " rules, expected at most " + std::to_string(kMaxReplaces));
    }
    if (!rule_.replaces.empty() && rule_.descriptor.empty()) {
      add({"replaces"}, "is given, expected a descriptor beside it");
    }
  }

  void check_allowance(FieldPath field, const AllowanceChange& change) {
    if (!is_unlimited(rule_, change)) check_spec(std::move(field), changed_spec(rule_, change));
  }

  // make_allowance names the field that is wrong before a colon.
  void check_spec(FieldPath field, const AllowanceSpec& spec) {
    const Result<Allowance> allowance = make_allowance(spec);
    if (allowance.ok()) return;
    const std::string& message = allowance.failure().message;
    // What is wrong with the rule itself is not told again for each of its plans and overrides.
    if (field.empty()) own_fault_ = message;
    if (!field.empty() && message == own_fault_) return;
    const std::size_t colon = message.find(": ");
    if (colon == std::string::npos) {
      add(std::move(field), message);
    } else {
      field.emplace_back(message.substr(0, colon));
      add(std::move(field), message.substr(colon + 2));
    }
  }

  void check_change(const FieldPath& field, const AllowanceChange& change) {
    const bool numbers = change.limit || change.window || change.burst || change.queue;
    if (change.unlimited && numbers) {
      add(field, "is unlimited and has numbers, expected one or the other");
    } else if (!change.unlimited && !numbers) {
      add(field, "changes nothing, expected limit, window, burst, queue or unlimited");
    } else {
      check_allowance(field, change);
    }
  }

  void check_cost() {
    const CostModel& cost = rule_.cost;
    switch (cost.kind) {
      case CostModel::Kind::request:
        return;
      case CostModel::Kind::fixed:
        return check_number({"cost"}, cost.units, 0, kMaxUnits);
      case CostModel::Kind::attribute:
        return check_name({"cost", "attribute"}, cost.attribute);
      case CostModel::Kind::table:
        break;
    }
    check_name({"cost", "by"}, cost.attribute);
    check_number({"cost", "default"}, cost.units, 0, kMaxUnits);
    if (cost.table.size() > kMaxCostEntries) {
      add({"cost"},
          "has " + std::to_string(cost.table.size()) + " values, expected at most " + std::to_string(kMaxCostEntries));
    }
    std::unordered_set<std::string_view> seen;
    for (const auto& [value, units] : cost.table) {
      check_number({"cost", value}, units, 0, kMaxUnits);
      check_value({"cost", value}, value);
      if (!seen.insert(value).second) add({"cost", value}, "is given twice");
    }
  }

  void check_value(FieldPath field, const std::string& value) {
    if (value.size() > kMaxPatternBytes) {
      add(std::move(field), "is longer than " + std::to_string(kMaxPatternBytes) + " bytes");
    }
  }

  void check_plans() {
    if (rule_.plans.size() > kMaxPlans) {
      add({"plans"},
          "has " + std::to_string(rule_.plans.size()) + " plans, expected at most " + std::to_string(kMaxPlans));
    }
    std::unordered_set<std::string_view> seen;
    for (const Plan& plan : rule_.plans) {
      const FieldPath field = {"plans", plan.name};
      if (plan.name.empty()) add({"plans"}, "has a plan without a name");
      check_value(field, plan.name);
      if (!seen.insert(plan.name).second) add(field, "is given twice");
      check_change(field, plan.change);
    }
  }

  void check_override(std::size_t i) {
    const Override& override = rule_.overrides[i];
    const FieldPath field = {"overrides", FieldStep(i)};
    FieldPath when = field;
    when.emplace_back("when");
    check_conditions(when, override.when);
    check_change(field, override.change);
    if (override.reason.size() > kMaxReason || base::valid_text_prefix(override.reason) != override.reason.size()) {
      FieldPath reason = field;
      reason.emplace_back("reason");
      add(std::move(reason), "is not a text of at most " + std::to_string(kMaxReason) + " bytes");
    }
  }

  void check_policies() {
    check_number({"rollout"}, rule_.rollout, 0, 100);
    check_number({"local_share"}, rule_.local_share, 1, 100);
    if (rule_.on_store_failure == FailurePolicy::static_limit) {
      check_number({"static_limit"}, rule_.static_limit, 1, kMaxUnits);
    }
    if (rule_.consistency != Consistency::exact) {
      add({"consistency"}, "leased and synced are not supported by this version of weir yet, expected exact");
    }
  }

  const Rule& rule_;
  std::string own_fault_;
  std::vector<RuleFault> faults_;
};

// Names and regular expressions over all rules.
class Totals {
 public:
  void count(const Rule& rule) {
    overrides += rule.overrides.size();
    count(rule.match);
    for (const Override& override : rule.overrides) count(override.when);
    for (const std::string& name : rule.per) names.insert(name);
    if (!rule.cost.attribute.empty()) names.insert(rule.cost.attribute);
  }

  std::size_t overrides = 0;
  std::size_t expressions = 0;
  std::unordered_set<std::string_view> names;

 private:
  void count(const std::vector<Condition>& conditions) {
    for (const Condition& condition : conditions) {
      names.insert(condition.attribute);
      expressions += static_cast<std::size_t>(
          std::count_if(condition.patterns.begin(), condition.patterns.end(), [&](const std::string& pattern) {
            return pattern_kind(condition.attribute, pattern) == PatternKind::expression;
          }));
    }
  }
};

}  // namespace

std::string to_string(const FieldPath& path) {
  std::string out;
  for (const FieldStep& step : path) {
    if (step.name.empty()) {
      out += '[' + std::to_string(step.index) + ']';
    } else {
      if (!out.empty()) out += '.';
      out += step.name;
    }
  }
  return out;
}

bool is_attribute_name(std::string_view name) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !name.empty() && name.size() <= kMaxAttributeName && std::none_of(name.begin(), name.end(), control) &&
         base::valid_text_prefix(name) == name.size();
}

bool is_rule_id(std::string_view id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !id.empty() && id.size() <= kMaxRuleId && std::all_of(id.begin(), id.end(), allowed);
}

AllowanceSpec changed_spec(const Rule& rule, const AllowanceChange& change) {
  AllowanceSpec spec = rule.allowance;
  if (change.limit) spec.limit = *change.limit;
  if (change.window) spec.window = *change.window;
  if (change.burst) spec.burst = change.burst;
  if (change.queue) spec.queue = change.queue;
  return spec;
}

AllowanceSpec local_limit_spec(const LocalLimit& limit) {
  AllowanceSpec spec;
  spec.algorithm = Algorithm::token_bucket;
  spec.limit = limit.limit;
  spec.window = limit.window;
  spec.burst = limit.burst;
  return spec;
}

bool is_unlimited(const Rule& rule, const AllowanceChange& change) {
  return change.unlimited || (rule.unlimited && !change.limit);
}

std::vector<RuleFault> check_rule(const Rule& rule) { return RuleChecker(rule).run(); }

std::vector<std::string> check_totals(const Rules& rules) {
  std::vector<std::string> faults;
  const auto bound = [&faults](std::size_t count, std::size_t most, std::string_view what) {
    if (count > most) {
      faults.push_back("rules: has " + std::to_string(count) + " " + std::string(what) + ", expected at most " +
                       std::to_string(most));
    }
  };
  Totals totals;
  for (const Rule& rule : rules.rules) totals.count(rule);
  bound(rules.rules.size(), kMaxRules, "rules");
  bound(totals.overrides, kMaxOverrides, "overrides");
  bound(totals.expressions, kMaxExpressions, "regular expressions");
  bound(totals.names.size() + 1, NameTable::kMaxNames, "attribute names");  // 1: `plan`
  return faults;
}

std::vector<std::string> check_neighbours(const Rules& rules) {
  std::vector<std::string> faults;
  DescriptorTree tree;
  std::unordered_set<std::string_view> ids;  // filled for the first rule that replaces others
  const auto add = [&faults](const Rule& rule, const std::string& what) {
    faults.push_back("rule " + rule.id + ": " + what);
  };
  for (const Rule& rule : rules.rules) {
    if (!rule.descriptor.empty()) {
      const Status added = tree.add(rule.descriptor, 0);
      if (!added.ok()) add(rule, "descriptor: " + added.failure().message);
    }
    if (!rule.replaces.empty() && ids.empty()) {
      for (const Rule& each : rules.rules) ids.insert(each.id);
    }
    for (const std::string& id : rule.replaces) {
      if (!ids.contains(id)) add(rule, "replaces: no rule has the id " + in_quotes(id));
      if (id == rule.id) add(rule, "replaces: names the rule itself");
    }
  }
  return faults;
}

Status check_rules(const Rules& rules) {
  FaultList faults;
  std::unordered_set<std::string_view> ids;
  ids.reserve(rules.rules.size());
  for (const Rule& rule : rules.rules) {
    if (!ids.insert(rule.id).second) faults.add("rule " + rule.id + ": id: is the id of an earlier rule too");
    for (const RuleFault& fault : check_rule(rule)) {
      const std::string field = to_string(fault.field);
      faults.add("rule " + rule.id + ": " + (field.empty() ? "" : field + ": ") + fault.what);
    }
  }
  for (std::string& fault : check_totals(rules)) faults.add(std::move(fault));
  for (std::string& fault : check_neighbours(rules)) faults.add(std::move(fault));
  if (!faults.empty()) return faults.failure();
  return success();
}

}  // namespace weir::rules
