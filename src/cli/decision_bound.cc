#include "cli/decision_bound.h"

#include <algorithm>

#include "rules/compile/slot_notes.h"

namespace weir::cli {

advise::Bound bound_of(const rules::RuleExplanation& rule) {
  if (!rule.allowance) return {"everything", true};
  if (rule.kind == ChargeKind::lease) return advise::bound_of_lease(*rule.allowance);
  advise::Bound bound = advise::bound_of(*rule.allowance);
  if (rule.tolerance == 0) return bound;
  return {bound.text + "; synced: up to " + std::to_string(rule.tolerance) + " more", false};
}

DecisionBound decision_bound(const rules::Explanation& explanation, const Rules& rules) {
  DecisionBound bound;
  Rules applying;
  for (const rules::RuleExplanation& each : explanation.rules) {
    if (!each.applies || !each.allowance) continue;
    bound.exact = bound.exact && bound_of(each).exact;
    const auto rule =
        std::find_if(rules.rules.begin(), rules.rules.end(), [&](const Rule& one) { return one.id == each.rule; });
    if (rule != rules.rules.end()) applying.rules.push_back(*rule);
  }
  if (applying.rules.size() > 1) bound.cluster_notes = rules::slot_notes(applying);
  return bound;
}

std::string DecisionBound::text() const {
  std::string out = exact ? "exact" : "approximate: a rule that applies may admit more than its limit in some window";
  out += "; charged in one atomic step, all rules or none";
  if (!cluster_notes.empty())
    out += ", except in a Redis Cluster: there in several steps, which are undone if one denies";
  return out;
}

}  // namespace weir::cli
