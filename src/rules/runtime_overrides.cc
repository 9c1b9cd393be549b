#include "rules/runtime_overrides.h"

#include <algorithm>
#include <unordered_map>

#include "rules/compile/conditions.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/field_checks.h"
#include "rules/compile/rule_check.h"

namespace weir::rules {
namespace {

// Overrides at run time have no place in a list.
std::string line_of_fault(RuleFault fault) {
  constexpr std::size_t kPlaceSteps = 2;  // "overrides", and which one
  if (fault.field.size() > kPlaceSteps && fault.field.front().name == "overrides") {
    fault.field.erase(fault.field.begin(), fault.field.begin() + kPlaceSteps);
  }
  const std::string field = to_string(fault.field);
  return field.empty() ? fault.what : field + ": " + fault.what;
}

bool names_every_rule(const RuntimeOverride& override) {
  return override.rules.size() == 1 && override.rules.front() == kEveryRule;
}

std::string_view id_of(const Override& override) {
  if (override.use == nullptr) return {};
  return override.use->id();
}

}  // namespace

std::string misfit(const Rule& rule, const Override& override) {
  Override numbers = override;
  numbers.when.clear();  // the same for every rule: check_alone
  numbers.reason.clear();
  numbers.use.reset();
  RuleFaults faults;
  check_override(rule, {}, numbers, faults);
  if (override.change.limit || override.change.window) check_added_override(rule, numbers, faults);
  std::vector<RuleFault> found = std::move(faults).take();
  if (!found.empty()) return line_of_fault(found.front());
  if (rule.on_bad_cost == BadCostPolicy::deny && !is_unlimited(rule, override.change)) {
    const Result<Allowance> allowance = changed_allowance(rule, override.change);
    if (allowance.ok() && allowance.value().largest_cost() >= kMaxUnits) {
      return "the rule has on_bad_cost: deny, expected a limit and burst below " + std::to_string(kMaxUnits);
    }
  }
  return {};
}

std::vector<std::string> check_alone(const RuntimeOverride& override) {
  std::vector<std::string> faults;
  if (override.rules.empty()) faults.push_back("rules: is empty, expected ids of rules or \"*\"");
  for (const std::string& id : override.rules) {
    if (id == kEveryRule ? override.rules.size() > 1 : !is_rule_id(id)) {
      faults.push_back("rules: has " + in_quotes(id) + ", expected ids of rules, or \"*\" alone");
    }
  }
  Rule any;  // numbers are checked with the rules that it is for
  any.id = "any";
  any.unlimited = true;
  any.allowance = {.algorithm = Algorithm::token_bucket, .limit = 1, .window = std::chrono::seconds(1)};
  Override alone = override.change;
  alone.reason.clear();
  alone.use.reset();
  if (alone.change.queue) alone.change.queue.reset();
  const bool numbers = override.change.change != AllowanceChange();
  if (numbers && alone.change == AllowanceChange()) alone.change.unlimited = true;
  RuleFaults found;
  check_override(any, {}, alone, found);
  for (const RuleFault& fault : std::move(found).take()) faults.push_back(line_of_fault(fault));
  if (override.change.mode == Mode::off && numbers) {
    faults.push_back("mode: is off and there are numbers, expected one or the other");
  }
  return faults;
}

Result<std::vector<std::string>> add_overrides(Rules& rules, const std::vector<RuntimeOverride>& overrides) {
  std::vector<std::string> misfits;
  if (overrides.empty()) return misfits;
  std::unordered_map<std::string_view, std::size_t> position;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) position.emplace(rules.rules[i].id, i);
  std::vector<std::vector<Override>> added(rules.rules.size());
  std::size_t count = 0;
  const auto add = [&](std::size_t i, const Override& override) {
    const std::string why_not = misfit(rules.rules[i], override);
    if (why_not.empty()) {
      added[i].push_back(override);
      ++count;
    } else {
      misfits.push_back("override " + std::string(id_of(override)) + ": rule " + rules.rules[i].id + ": " + why_not);
    }
  };
  for (const RuntimeOverride& each : overrides) {
    if (names_every_rule(each)) {
      for (std::size_t i = 0; i < rules.rules.size(); ++i) add(i, each.change);
    } else {
      for (const std::string& id : each.rules) {
        const auto found = position.find(id);
        if (found != position.end()) add(found->second, each.change);
        if (found == position.end()) {
          misfits.push_back("override " + std::string(id_of(each.change)) + ": rule " + id + ": there is no such rule");
        }
      }
    }
    if (count > kMaxAddedOverrides) {
      return Failure{Code::out_of_range, "overrides: apply " + std::to_string(count) +
                                             " times over all rules, expected at most " +
                                             std::to_string(kMaxAddedOverrides)};
    }
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    std::vector<Override>& own = rules.rules[i].overrides;
    own.insert(own.begin(), std::make_move_iterator(added[i].begin()), std::make_move_iterator(added[i].end()));
  }
  return misfits;
}

}  // namespace weir::rules
