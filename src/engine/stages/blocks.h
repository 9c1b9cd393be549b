// Blocks: refuse some requests before anything else happens to them. A blocked request is charged nothing, and its
// answer says nothing but that. Pure functions over an immutable BlockSet.
#pragma once

#include "engine/active_rules.h"
#include "weir/decision.h"
#include "weir/request.h"
#include "weir/store.h"

namespace weir::engine {

// The block that refuses the request, or null. Only what takes or looks is refused: what was taken before may be given
// back. Precondition: rules.intake is not null.
const Block* find_block(const ActiveRules& rules, const Request& request, Action action, TimePoint wall);

// Precondition: `decision` is new, or was made so.
void refuse_blocked(const Request& request, Decision& decision);

}  // namespace weir::engine
