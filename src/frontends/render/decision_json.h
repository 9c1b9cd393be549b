// A decision as JSON, alone or inside a problem (RFC 9457); api/openapi.json describes the members. Plain functions on
// strings, for every front end that answers in JSON.
#pragma once

#include <string>

#include "weir/decision.h"

namespace weir::render {

// {"allowed":true,"reason":"ok",…}
void append_decision(std::string& out, const Decision& decision);

// {"type":…,"title":…,"status":…,"detail":…,"code":…,"violated-policies":[…],"allowed":false,…}
// Precondition: !decision.allowed.
void append_denial(std::string& out, const Decision& decision, int status);

// The default status of an answer: 200, 429, or 503 when the denial is ours (the store
// did not answer, load is being shed) and not the client's.
int default_status(const Decision& decision);

}  // namespace weir::render
