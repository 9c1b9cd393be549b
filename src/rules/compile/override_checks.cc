// What a rule needs of all its numbers, for an override that is set at run time: the checks that a rules file gets.
#include <utility>

#include "rules/compile/fault_list.h"
#include "rules/compile/field_checks.h"

namespace weir::rules {

void check_added_override(const Rule& rule, const Override& override, RuleFaults& faults) {
  // Only what these checks look at: a rule may have ten thousand overrides, and is asked for each that is added.
  Rule alone;
  alone.id = rule.id;
  alone.kind = rule.kind;
  alone.allowance = rule.allowance;
  alone.unlimited = rule.unlimited;
  alone.distinct = rule.distinct;
  alone.consistency = rule.consistency;
  alone.hot_keys = rule.hot_keys;
  alone.region = rule.region;
  alone.home = rule.home;
  Override numbers;
  numbers.change = override.change;
  alone.overrides.push_back(std::move(numbers));
  check_distinct(alone, faults);
  check_consistency(alone, faults);
  check_hot_keys(alone, faults);
  check_region(alone, faults);
}

}  // namespace weir::rules
