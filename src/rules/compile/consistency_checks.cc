// Which rules can be kept otherwise than exactly: the checks of `consistency` and what belongs to it.
#include <algorithm>
#include <string>

#include "rules/compile/fault_list.h"
#include "rules/compile/field_checks.h"

namespace weir::rules {
namespace {

bool counts_in_windows(Algorithm algorithm) {
  return algorithm == Algorithm::fixed_window || algorithm == Algorithm::bucketed_window ||
         algorithm == Algorithm::sliding_counter;
}

bool changes_window(const Rule& rule) {
  const auto differs = [&rule](const AllowanceChange& change) {
    return change.window && *change.window != rule.allowance.window;
  };
  return std::any_of(rule.plans.begin(), rule.plans.end(), [&](const Plan& plan) { return differs(plan.change); }) ||
         std::any_of(rule.overrides.begin(), rule.overrides.end(),
                     [&](const Override& each) { return differs(each.change); });
}

// Why units of this rule cannot be drawn in advance; empty: they can.
std::string obstacle_to_leases(const Rule& rule) {
  if (rule.kind == ChargeKind::lease) return "a concurrency rule counts leases that every node must see";
  if (rule.kind == ChargeKind::quota) return "a quota is kept in the ledger; use enforcement: leased";
  const Algorithm algorithm = rule.allowance.algorithm;
  if (algorithm == Algorithm::sliding_log) {
    return "a sliding-log keeps the time of each request, which units drawn in advance do not have";
  }
  if (algorithm == Algorithm::leaky_bucket) {
    return "a leaky-bucket tells each request how long to wait, which only the store knows";
  }
  if (rule.count_denied) return "count_denied counts every denied request in the store";
  if (rule.penalty) return "a penalty counts every denial in the store";
  if (!rule.distinct.empty()) return "distinct counts values that every node must see";
  if (rule.candidate) return "a candidate is judged in the store on every request";
  if (counts_in_windows(algorithm) && changes_window(rule)) {
    return "a plan or override has another window, and every request counts in both";
  }
  return {};
}

}  // namespace

void check_consistency(const Rule& rule, RuleFaults& faults) {
  if (rule.consistency == Consistency::exact) return;
  if (rule.consistency == Consistency::synced) {
    return faults.add({"consistency"}, "synced is not supported by this version of weir yet, expected exact or leased");
  }
  const std::string obstacle = obstacle_to_leases(rule);
  if (!obstacle.empty()) faults.add({"consistency"}, "is leased, expected exact: " + obstacle);
}

void check_hot_keys(const Rule& rule, RuleFaults& faults) {
  if (rule.hot_keys != HotKeys::lease) return;
  const std::string obstacle = obstacle_to_leases(rule);
  if (!obstacle.empty()) faults.add({"hot_keys"}, "is lease, expected show: " + obstacle);
}

}  // namespace weir::rules
