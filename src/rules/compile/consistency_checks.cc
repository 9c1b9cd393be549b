// Which rules can be kept otherwise than exactly: the checks of `consistency` and what belongs to it.
#include <algorithm>
#include <string>

#include "rules/compile/fault_list.h"
#include "rules/compile/field_checks.h"
#include "rules/compile/quota_checks.h"

namespace weir::rules {
namespace {

bool counts_in_windows(Algorithm algorithm) {
  return algorithm == Algorithm::fixed_window || algorithm == Algorithm::bucketed_window ||
         algorithm == Algorithm::sliding_counter;
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

constexpr Duration kLeastSyncInterval = std::chrono::milliseconds(10);
constexpr Duration kMostSyncInterval = std::chrono::seconds(10);

// Why units of this rule cannot be charged after they were admitted; empty: they can.
std::string obstacle_to_syncing(const Rule& rule) {
  const Algorithm algorithm = rule.allowance.algorithm;
  if (rule.kind == ChargeKind::quota) return "a quota is kept in the ledger; use enforcement: leased";
  if (rule.kind == ChargeKind::bucket && algorithm == Algorithm::sliding_log) {
    return "a sliding-log keeps the time of each request, which a report does not have";
  }
  if (rule.kind == ChargeKind::bucket &&
      (algorithm == Algorithm::bucketed_window || algorithm == Algorithm::sliding_counter)) {
    return "a report that comes late would be charged to the next window; use token-bucket, gcra, fixed-window or "
           "consistency: leased";
  }
  return obstacle_to_leases(rule);
}

}  // namespace

bool changes_window(const Rule& rule) {
  const auto differs = [&rule](const AllowanceChange& change) {
    return change.window && *change.window != rule.allowance.window;
  };
  return std::any_of(rule.plans.begin(), rule.plans.end(), [&](const Plan& plan) { return differs(plan.change); }) ||
         std::any_of(rule.overrides.begin(), rule.overrides.end(),
                     [&](const Override& each) { return differs(each.change); });
}

void check_consistency(const Rule& rule, RuleFaults& faults) {
  if (rule.consistency == Consistency::exact) return;
  const bool synced = rule.consistency == Consistency::synced;
  const std::string obstacle = synced ? obstacle_to_syncing(rule) : obstacle_to_leases(rule);
  if (obstacle.empty()) return;
  faults.add({"consistency"},
             "is " + std::string(consistency_name(rule.consistency)) + ", expected exact: " + obstacle);
}

void check_tolerance(const Rule& rule, RuleFaults& faults) {
  if (!rule.tolerance) return;
  if (rule.consistency != Consistency::synced && rule.region != RegionSharing::reconcile) {
    return faults.add({"tolerance"},
                      "is set, expected consistency: synced or region: reconcile: other rules admit nothing too much");
  }
  check_share({"tolerance"}, *rule.tolerance, 1, faults);
  const std::int64_t capacity = rule.allowance.burst.value_or(rule.allowance.limit);
  if (rule.tolerance->percent || rule.tolerance->amount <= capacity || capacity <= 0) return;
  faults.add({"tolerance"}, "is " + std::to_string(rule.tolerance->amount) + ", expected at most the capacity, " +
                                std::to_string(capacity) + ": with more, the limit would mean nothing");
}

void check_sync_interval(const Rule& rule, RuleFaults& faults) {
  if (!rule.sync_interval) return;
  if (rule.consistency != Consistency::synced) {
    return faults.add({"sync_interval"}, "is set, expected consistency: synced: other rules report nothing");
  }
  if (*rule.sync_interval >= kLeastSyncInterval && *rule.sync_interval <= kMostSyncInterval) return;
  faults.add({"sync_interval"}, "is out of range, expected 10ms to 10s");
}

void check_hot_keys(const Rule& rule, RuleFaults& faults) {
  if (rule.hot_keys != HotKeys::lease) return;
  const std::string obstacle = obstacle_to_leases(rule);
  if (!obstacle.empty()) faults.add({"hot_keys"}, "is lease, expected show: " + obstacle);
}

}  // namespace weir::rules
