// A rule in words, for operators. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/compile/explanation.h"
#include "rules/compile/rule_set.h"
#include "weir/rule.h"

namespace weir::admin {

// "token-bucket", "concurrency", "quota".
std::string_view algorithm_of(const Rule& rule);

// "120 per 1 min, burst 200, per tenant and api_key"; "3 at a time, per tenant"; "unlimited".
std::string summary_of(const Rule& rule);

// "120 per 1 min, burst 200"; "3 at a time"; "unlimited".
std::string allowance_text(const std::optional<Allowance>& allowance, ChargeKind kind);

// What a rule is for those to whom an override applies: "5000 per 1 min", "unlimited", "mode shadow".
std::string override_text(const Rule& rule, const AllowanceChange& change, const std::optional<Mode>& mode);

// What it counts, what it allows, for whom other numbers apply, and what happens if the store does not answer: a
// sentence each.
std::vector<std::string> explain_rule(const rules::CompiledRule& rule);

// Why a rule applies with these numbers, in one sentence.
std::string explain_match(const rules::RuleExplanation& explanation);

// Where the numbers of a rule come from, as programs read it: "default", "plan", "override" or "emergency".
std::string_view allowance_source(const rules::RuleExplanation& explanation);

}  // namespace weir::admin
