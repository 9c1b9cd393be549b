// Conditions that say nothing: those that every value fulfils, or nearly every one, as far as that can be decided.
#pragma once

#include "weir/rule.h"

namespace weir::rules {

// True when the condition holds for any value of its attribute, or any address of IPv4 or of IPv6: "*", an expression
// that takes every character, 0.0.0.0/0, or prefixes that are all addresses together. Patterns are tried on values that
// have nothing in common, so an expression that leaves out a rare one counts as taking any. Precondition: the condition
// is valid.
bool fits_any_value(const Condition& condition);

// The same for nearly any value: it holds for ordinary values that have nothing in common, such as names, numbers,
// addresses and user agents; of `path` for ordinary paths, of `method` for the usual methods. "~[^q]*", "~.{1,50}",
// `path: "/*"`. The same precondition.
bool fits_nearly_any_value(const Condition& condition);

}  // namespace weir::rules
