// What an allowance really admits, in words: the bound of its algorithm with its own numbers. Pure.
#pragma once

#include <string>

#include "weir/allowance.h"
#include "weir/rule.h"

namespace weir::advise {

struct Bound {
  std::string text;   // "at most 120 in any 60s, to the microsecond"
  bool exact = true;  // false: it may admit more than the limit in some stretch of a window
};

Bound bound_of(const Allowance& allowance);
Bound bound_of_lease(const Allowance& allowance);

}  // namespace weir::advise
