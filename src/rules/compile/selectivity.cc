#include "rules/compile/selectivity.h"

#include <algorithm>

#include "rules/compile/conditions.h"

namespace weir::rules {

void Selectivity::count(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    if (!is_equality(condition)) continue;
    for (const std::string& value : condition.patterns) ++uses_[{condition.attribute, value}];
  }
}

const Condition* Selectivity::best(const std::vector<Condition>& conditions) const {
  if (conditions.size() == 1) return is_equality(conditions[0]) ? &conditions[0] : nullptr;
  const Condition* best = nullptr;
  std::pair<std::size_t, std::size_t> least;  // uses of its most common value, then number of values
  for (const Condition& condition : conditions) {
    if (!is_equality(condition)) continue;
    std::pair<std::size_t, std::size_t> uses(0, condition.patterns.size());
    for (const std::string& value : condition.patterns) {
      uses.first = std::max(uses.first, uses_.at({condition.attribute, value}));
    }
    if (best == nullptr || uses < least) {
      best = &condition;
      least = uses;
    }
  }
  return best;
}

}  // namespace weir::rules
