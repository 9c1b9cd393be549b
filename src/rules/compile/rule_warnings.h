// What is valid in rules but probably not meant. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rules/compile/rule_check.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

struct RuleWarning {
  std::size_t rule = 0;  // in Rules::rules
  FieldPath field;
  std::string what;
};

struct RuleWarnings {
  static constexpr std::size_t kMostKept = 100;

  std::vector<RuleWarning> kept;  // in the order of the rules
  std::size_t left_out = 0;
};

RuleWarnings rule_warnings(const Rules& rules, TimePoint now);

// That rules do not say what happens when the store does not answer: at the first of them, for all. None: all do.
std::optional<RuleWarning> default_policy_warning(const Rules& rules);

// "rule ID: field: what", for rules that come from no file.
std::string to_line(const Rules& rules, const RuleWarning& warning);
// "… and 12 more warnings"
std::string left_out_line(std::size_t count);

}  // namespace weir::rules
