// How the buckets of a rule are kept in front of a shared store: its SliceTerms (weir/draw_step.h). Pure.
#pragma once

#include <optional>

#include "rules/compile/allowance_choice.h"
#include "weir/draw_step.h"
#include "weir/rule.h"

namespace weir::rules {

// A slice of a bucket that refills lives no longer, and no longer than a tenth of what the bucket refills in.
inline constexpr Duration kLongestSlice = std::chrono::seconds(1);
// Shorter ones are not worth a call.
inline constexpr Duration kShortestSlice = std::chrono::milliseconds(1);

// Of a synced rule that does not say otherwise.
inline constexpr Duration kSyncInterval = std::chrono::milliseconds(100);
inline constexpr Share kTolerance{.amount = 5, .percent = true};
inline Share tolerance_of(const Rule& rule) { return rule.tolerance.value_or(kTolerance); }

// None: the rule is exact, or its bucket refills too quickly for slices. `choice`: all allowances of the rule.
std::optional<SliceTerms> slice_terms(const Rule& rule, const AllowanceChoice& choice, std::uint64_t version);

}  // namespace weir::rules
