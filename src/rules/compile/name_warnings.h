// Names in rules that look misspelt: attributes that resemble a well-known one, or one that other rules use, and plans
// that resemble each other. Such a rule is valid and silently counts nothing. Pure.
#pragma once

#include <vector>

#include "rules/compile/rule_warnings.h"
#include "weir/rule.h"

namespace weir::rules {

// One for each name, at its first use; at most RuleWarnings::kMostKept / 2.
std::vector<RuleWarning> name_warnings(const Rules& rules);

}  // namespace weir::rules
