#include "engine/stages/adaptive.h"

#include <algorithm>

namespace weir::engine {

void judge_adaptive_limits(const Check& check, const Run& run, AdaptiveLimits& limits, Decision& decision) {
  std::size_t next = 0;
  for (RuleOutcome& rule : decision.rules) {
    if (rule.unlimited) continue;
    const std::size_t i = next++;
    const Charge& charge = check.charges()[i];
    const rules::Match& match = check.match_of(i);
    if (match.rule->adapted.empty() || rule.store_failed) continue;
    if (charge.allowance != match.allowance && check.outcomes()[i].admitted) {
      const bool taken = run.hold != nullptr && run.action == Action::take && rule.cost > 0;
      const std::int64_t held = charge.allowance->limit - check.outcomes()[i].remaining;
      rule.remaining = std::max<std::int64_t>(0, rule.limit - held);
      rule.allowed = held + (taken ? 0 : rule.cost) <= rule.limit;
    }
    if (!rule.allowed && run.action == Action::take) limits.refused(charge.key);
  }
}

}  // namespace weir::engine
