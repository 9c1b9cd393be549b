// The families of a scrape that have samples for each rule, written line by line (metric_text.h).
#pragma once

#include <string>
#include <vector>

#include "observe/metrics.h"

namespace weir::observe {

// What the rules said to checks, why they denied, and who came close.
void write_rule_counts(std::string& out, const std::vector<const DecisionCounters*>& loops,
                       const RuleLabels::Table& table);
// Subjects that have a bucket.
void write_rule_subjects(std::string& out, const std::vector<RuleSubjects>& subjects, const RuleLabels::Table& table);
// What was left after decisions. The sum is an upper estimate from the bounds of the steps.
void write_rule_remaining(std::string& out, const std::vector<RuleRemaining>& rules);

}  // namespace weir::observe
