// What is allowed in rules but probably not meant. Pure.
#pragma once

#include <string>
#include <vector>

#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

// One line each, "rule ID: field: what".
std::vector<std::string> rule_warnings(const Rules& rules, TimePoint now);

}  // namespace weir::rules
