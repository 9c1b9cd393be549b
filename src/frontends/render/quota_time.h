// How long until a rule has more to give: the `t` of a RateLimit field.
//
// Worked out from what the outcome says, so that no store has to answer another number:
//
//   token-bucket, gcra, leaky-bucket   until the next whole unit, exactly
//   fixed-window                       until the window ends, exactly
//   sliding-counter                    until the count shrinks by one unit, at the latest: what the window before still
//                                      counts is not known here, and it may shrink earlier
//   sliding-log, bucketed-window       until the newest entry leaves, at the latest: when the oldest one does is not
//                                      known here
//
// On a denial it is the wait that the rule asks for: what is left grows by then, at the latest. So it is never longer
// than Retry-After. A failure policy counts by numbers of its own; its `t` is the time until it has its whole
// allowance.
#pragma once

#include "weir/decision.h"

namespace weir::render {

// After this time, if nothing else is charged, `remaining` is larger than now or all that the rule has. 0: it has all.
// Precondition: something was counted (not rule.unlimited).
Duration time_to_more_quota(const RuleOutcome& rule);

}  // namespace weir::render
