// What the candidate numbers of rules (Rule::candidate) say of a request, for its decision. They were judged by the
// store, in the same call as everything else.
#pragma once

#include "engine/check.h"
#include "weir/decision.h"

namespace weir::engine {

// `answered`: the store has answered for every charge that decides; else nothing is known of candidates. `wall` is the
// time of the decision.
void judge_candidates(const Check& check, bool answered, TimePoint wall, Decision& decision);

}  // namespace weir::engine
