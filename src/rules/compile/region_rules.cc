// Which rules the regions can share, and how.
#include "rules/compile/region_rules.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "rules/compile/fault_list.h"
#include "rules/compile/field_checks.h"

namespace weir::rules {
namespace {

constexpr std::size_t kMaxRegionName = 64;

// A window must be long beside what clocks differ by.
constexpr Duration kShortestSharedWindow = std::chrono::seconds(1);

std::string obstacle_to_windows(const Rule& rule) {
  if (rule.allowance.window < kShortestSharedWindow) {
    return "the window is shorter than 1s, and clocks of regions differ";
  }
  if (changes_window(rule)) return "a plan or override has another window, and every request counts in both";
  return {};
}

std::string obstacle_to_slices(const Rule& rule) {
  const Algorithm algorithm = rule.allowance.algorithm;
  if (algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra) return {};
  if (algorithm == Algorithm::fixed_window) return obstacle_to_windows(rule);
  return "a share must be a smaller limit of the same kind, expected algorithm token-bucket, gcra or fixed-window; "
         "central shares all";
}

std::string obstacle_to_reconciling(const Rule& rule) {
  if (rule.allowance.algorithm == Algorithm::fixed_window) return obstacle_to_windows(rule);
  return "regions report to each other what they have admitted in a window, expected algorithm fixed-window; slices "
         "shares a token-bucket";
}

// Why the regions cannot divide this rule's limit; empty: they can.
std::string obstacle_to_dividing(const Rule& rule) {
  if (rule.kind == ChargeKind::lease) return "a concurrency rule counts leases that every node must see; use central";
  if (rule.penalty) return "a penalty counts every denial in one place; use central";
  if (!rule.distinct.empty()) return "distinct counts values that every region must see; use central";
  if (rule.candidate) return "a candidate is judged on every request in one place; use central";
  return rule.region == RegionSharing::slices ? obstacle_to_slices(rule) : obstacle_to_reconciling(rule);
}

std::string obstacle_to_sharing(const Rule& rule) {
  if (rule.kind == ChargeKind::quota) return "a quota is kept in the ledger, which the regions share";
  if (rule.consistency != Consistency::exact) {
    return "consistency: " + std::string(consistency_name(rule.consistency)) +
           " keeps units on a node, which the other regions cannot see";
  }
  if (rule.hot_keys == HotKeys::lease)
    return "hot_keys: lease keeps units on a node, which the other regions cannot see";
  return rule.region == RegionSharing::central ? std::string() : obstacle_to_dividing(rule);
}

}  // namespace

std::string_view region_sharing_name(RegionSharing sharing) {
  constexpr std::string_view kNames[] = {"none", "slices", "reconcile", "central"};
  return kNames[static_cast<std::size_t>(sharing)];
}

std::optional<RegionTerms> region_terms(const Rule& rule) {
  if (rule.region == RegionSharing::none) return std::nullopt;
  RegionTerms terms;
  terms.sharing = rule.region;
  terms.on_partition = rule.on_partition;
  terms.home = rule.home;
  if (rule.tolerance) terms.tolerance = *rule.tolerance;
  return terms;
}

void check_region(const Rule& rule, RuleFaults& faults) {
  if (rule.region == RegionSharing::none) return;
  const std::string obstacle = obstacle_to_sharing(rule);
  if (!obstacle.empty()) {
    return faults.add({"region"},
                      "is " + std::string(region_sharing_name(rule.region)) + ", expected none: " + obstacle);
  }
  if (rule.region == RegionSharing::central && rule.home.empty()) {
    faults.add({"region"}, "is central, which needs home: the name of the region that counts");
  }
}

void check_on_partition(const Rule& rule, RuleFaults& faults) {
  if (rule.on_partition == OnPartition::hold || rule.region == RegionSharing::reconcile) return;
  faults.add({"on_partition"}, "is continue, which only a rule with region: reconcile can have");
}

void check_home(const Rule& rule, RuleFaults& faults) {
  if (rule.home.empty()) return;
  if (rule.region != RegionSharing::central) {
    return faults.add({"home"}, "is '" + rule.home + "', which only a rule with region: central can have");
  }
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
  if (rule.home.size() > kMaxRegionName || !std::all_of(rule.home.begin(), rule.home.end(), fits)) {
    faults.add({"home"}, "is '" + rule.home + "', expected at most 64 letters, digits, '.', '_' and '-'");
  }
}

}  // namespace weir::rules
