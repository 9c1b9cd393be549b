#include "rules/compile/rule_check.h"

#include <algorithm>
#include <unordered_set>

#include "base/utf8.h"
#include "rules/compile/block_set.h"
#include "rules/compile/conditions.h"
#include "rules/compile/descriptor_tree.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/name_table.h"
#include "rules/compile/per_entry.h"
#include "rules/compile/shedding_classes.h"
#include "rules/read/rule_fields.h"
#include "weir/request.h"

namespace weir::rules {
namespace {

// Names and regular expressions over all rules.
class Totals {
 public:
  void count(const Rule& rule) {
    overrides += rule.overrides.size();
    count(rule.match);
    for (const Override& override : rule.overrides) count(override.when);
    for (const std::string& entry : rule.per) {
      for_each_name(entry, [this](std::string_view name) { names.emplace(name); });
    }
    if (!rule.cost.attribute.empty()) names.insert(rule.cost.attribute);
    if (!rule.distinct.empty()) names.insert(rule.distinct);
  }

  std::size_t overrides = 0;
  std::size_t expressions = 0;
  std::unordered_set<std::string> names;

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

Result<Allowance> changed_allowance(const Rule& rule, const AllowanceChange& change) {
  const AllowanceSpec spec = changed_spec(rule, change);
  const auto make = [&] {
    if (rule.kind == ChargeKind::lease) return make_concurrency(spec, rule.lease);
    return rule.kind == ChargeKind::quota ? make_quota(spec) : make_allowance(spec);
  };
  Result<Allowance> made = make();
  if (!made.ok()) return made;
  Allowance allowance = made.value();
  if (rule.overdraft) allowance.overdraft = *rule.overdraft;
  allowance.charges_lapsed = rule.on_expiry == ExpiryPolicy::commit;
  return allowance;
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

bool may_answer(const Rule& rule, FailurePolicy policy) {
  return rule.on_store_failure && (rule.on_store_failure->policy == policy || rule.on_store_failure->then == policy);
}

std::vector<RuleFault> check_rule(const Rule& rule) {
  RuleFaults faults;
  for (const Field<Rule>& field : rule_fields()) {
    if (field.check != nullptr) field.check(rule, faults);
  }
  return std::move(faults).take();
}

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
  const auto unfiled =
      std::count_if(rules.blocks.begin(), rules.blocks.end(), [](const Block& block) { return !is_filed(block); });
  bound(static_cast<std::size_t>(unfiled), kMaxUnfiledBlocks, "blocks without an exact value or an address");
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
  if (rules.shedding) {
    for (const RuleFault& fault : check_shedding(*rules.shedding)) {
      faults.add("shedding." + to_string(fault.field) + ": " + fault.what);
    }
  }
  for (std::size_t i = 0; i < rules.blocks.size(); ++i) {
    for (const BlockFault& fault : check_block(rules.blocks[i])) {
      faults.add("blocks[" + std::to_string(i) + "]." + fault.field + ": " + fault.what);
    }
  }
  for (std::string& fault : check_totals(rules)) faults.add(std::move(fault));
  for (std::string& fault : check_neighbours(rules)) faults.add(std::move(fault));
  if (!faults.empty()) return faults.failure();
  return success();
}

}  // namespace weir::rules
