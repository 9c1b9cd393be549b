// A rule's numbers in a few words, for reports and lists. Pure.
#pragma once

#include <string>

#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

// "120 per 60s, burst 200, token-bucket"; "3 at a time, lease 30s"; "unlimited".
std::string rule_summary(const Rule& rule);
// As rules files write it: with its largest whole unit, as in 60s.
std::string window_text(Duration window);

}  // namespace weir::rules
