// Writes rules as a rules file: what `weir rules import` prints. Pure.
#pragma once

#include <string>

#include "weir/rule.h"

namespace weir::rules {

// Reading it gives the same rules. Precondition: every rule's cost is the request's or fixed, and it has no plans and
// no overrides; other formats have none.
std::string write_rules(const Rules& rules);

}  // namespace weir::rules
