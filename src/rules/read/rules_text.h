// Writes rules as a rules file, for example for `weir rules import`. Pure.
#pragma once

#include <string>

#include "weir/rule.h"

namespace weir::rules {

// Reading it gives equal rules. Precondition: check_rules(rules) finds nothing. Numbers that have no effect are not
// written: the limit of an unlimited rule, the units of a cost that does not use them.
std::string write_rules(const Rules& rules);

}  // namespace weir::rules
