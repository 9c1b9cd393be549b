// Whether a decision is charged in one atomic step, and whether the rules that apply to it are exact, for
// `weir rules explain`. Pure.
#pragma once

#include <string>
#include <vector>

#include "advise/rule_bound.h"
#include "rules/compile/explanation.h"
#include "weir/rule.h"

namespace weir::cli {

// What the rule that applies admits at most.
advise::Bound bound_of(const rules::RuleExplanation& rule);

struct DecisionBound {
  bool exact = true;  // no rule that applies may admit more than its limit in a window
  // Empty: one atomic step in a Redis Cluster too. Else why it is not, one line for each pair of rules.
  std::vector<std::string> cluster_notes;

  std::string text() const;
};

DecisionBound decision_bound(const rules::Explanation& explanation, const Rules& rules);

}  // namespace weir::cli
