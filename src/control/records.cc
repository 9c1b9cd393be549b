#include "control/records.h"

#include <algorithm>

namespace weir::control {

const std::string& TenantRecord::plan_at(TimePoint wall) const {
  if (steps.empty()) return plan;
  static const std::string kNone;
  const std::string* found = &kNone;
  for (const PlanStep& step : steps) {
    if (step.from <= wall) found = &step.plan;
  }
  return *found;
}

void TenantRecord::set_plan(const std::string& next, const std::optional<TimePoint>& from, TimePoint now) {
  if (!from && next == plan) return;
  const bool is_new = created == TimePoint{};
  if (steps.empty() && !is_new) steps.push_back({plan, TimePoint{}});
  const TimePoint begins = from.value_or(is_new ? TimePoint{} : now);
  std::erase_if(steps, [begins](const PlanStep& step) { return step.from >= begins && step.from != TimePoint{}; });
  if (!steps.empty() && steps.back().from >= begins) steps.clear();
  if (steps.empty() || steps.back().plan != next) steps.push_back({next, begins});
  if (steps.size() > kMaxPlanSteps) {
    steps.erase(steps.begin(), steps.end() - kMaxPlanSteps);
    steps.front().from = TimePoint{};
  }
  plan = next;
}

}  // namespace weir::control
