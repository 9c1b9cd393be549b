// Overrides that operators set at run time, and how they become part of the rules.
//
// Those of a rule come before the ones in its file, so that the order of precedence is: emergency, run time, file,
// plan, the rule itself. One that does not fit a rule (a burst for a fixed window) is left out there and named; rules
// may change after it was set. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"
#include "weir/rule.h"

namespace weir::rules {

// In place of ids: every rule.
inline constexpr std::string_view kEveryRule = "*";
// After they were added to each of their rules.
inline constexpr std::size_t kMaxAddedOverrides = 500'000;

struct RuntimeOverride {
  std::vector<std::string> rules;  // ids, or kEveryRule alone
  Override change;
};

// Adds them to the rules. Returns what does not fit, as "override ID: rule ID: what". Failure: out_of_range.
Result<std::vector<std::string>> add_overrides(Rules& rules, const std::vector<RuntimeOverride>& overrides);

// What is wrong with one by itself; empty: nothing. Conditions, contradictions, numbers that no rule could have.
std::vector<std::string> check_alone(const RuntimeOverride& override);

// Empty: it fits the rule.
std::string misfit(const Rule& rule, const Override& override);

}  // namespace weir::rules
