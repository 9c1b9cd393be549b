// What rules with `limit: {auto: …}` say, after the store has answered. In shadow mode the store counts all that is
// held, up to the largest limit, and whether the limit that applies now would have admitted is said here.
#pragma once

#include "engine/adaptive_limits.h"
#include "engine/run.h"
#include "weir/decision.h"

namespace weir::engine {

// Tells `limits` what was refused, or would have been. Precondition: make_verdict(check, {}, decision).
void judge_adaptive_limits(const Check& check, const Run& run, AdaptiveLimits& limits, Decision& decision);

}  // namespace weir::engine
