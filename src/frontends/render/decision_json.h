// A decision as JSON, alone or inside a problem (RFC 9457); api/openapi.json describes the members. Plain functions on
// strings, for every front end that answers in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/decision.h"

namespace weir::render {

// {"allowed":true,"reason":"ok",…}
void append_decision(std::string& out, const Decision& decision);

// {"type":…,"title":…,"status":…,"detail":…,"code":…,"violated-policies":[…],"allowed":false,…}
// Precondition: !decision.allowed.
void append_denial(std::string& out, const Decision& decision, int status);

// What answers say of a decision's cost and source. A blocked caller does not learn whether a block
// or its credentials were the reason.
std::int64_t told_cost(const Decision& decision);
std::string_view told_source(const Decision& decision);

// The default status of an answer: 200, 429, or 503 when the denial is ours (the store
// did not answer, load is being shed) and not the client's.
int default_status(const Decision& decision);

}  // namespace weir::render
