// What experience says about a rule set: patterns that are valid and cause trouble later. Pure.
#pragma once

#include <string>
#include <vector>

#include "weir/rule.h"

namespace weir::advise {

struct Finding {
  std::string rule;     // empty: the rule set as a whole
  std::string pattern;  // a fixed word, such as "fixed-window-on-log-in"
  std::string text;     // what is the matter, and what to do
};

// In the order of the rules; those about the whole set first. Every pattern is listed in docs/choosing-an-algorithm.md.
std::vector<Finding> review_rules(const Rules& rules);

}  // namespace weir::advise
