// Finds, for each rule, the smallest limit that denies at most a target share of the rule's requests.
//
// Each rule is played by itself, with its own algorithm, on the charges of the log; a burst or queue that is set keeps
// its ratio to the limit. The search halves, for all rules at once, so the tape is played a few dozen times at most.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulate/charge_tape.h"
#include "simulate/report.h"
#include "weir/allowance.h"
#include "weir/result.h"

namespace weir::simulate {

struct SearchedRule {
  std::string rule;
  AllowanceSpec spec;
};

// `rules` by TapeRecord::rule(). Rules without any charge are left out. `target` is a share, 0 to 1.
Result<std::vector<Suggestion>> search_limits(ChargeTape& tape, const std::vector<SearchedRule>& rules, double target,
                                              std::size_t max_bytes);

// The spec with another limit, and its burst and queue in proportion.
AllowanceSpec with_limit(const AllowanceSpec& spec, std::int64_t limit);

}  // namespace weir::simulate
