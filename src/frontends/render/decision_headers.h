// A decision as header fields: RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), Retry-After, and
// by option the older X-RateLimit-*. Plain functions on strings, for every front end that has headers.
//
// Only enforced rules are shown: what a shadow rule would have done is for the operator only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weir/decision.h"

namespace weir::render {

// `"search-per-key";q=120;w=60`, one item for each enforced rule, in the order of the rules file; appends nothing if
// there is none.
void append_rate_limit_policy(std::string& out, const Decision& decision);
// `"search-per-key";r=119;t=1`, likewise. `t` is the time until there is more (quota_time.h), in whole seconds, rounded
// up; it is left out of a rule that has its whole allowance.
void append_rate_limit(std::string& out, const Decision& decision);

// Whole seconds, at least 1 and never earlier than any `t` of a rule that denied; 0 when no such field is due: the
// request is allowed, or no wait can help.
std::int64_t retry_after_seconds(const Decision& decision);

// The older X-RateLimit-Limit, -Remaining and -Reset of the most restrictive rule; nothing if there is none. Reset is
// in seconds: on a denial the wait, otherwise until the rule has its whole allowance.
struct LegacyFields {
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::int64_t reset_seconds = 0;
};
std::optional<LegacyFields> legacy_fields(const Decision& decision);

// All of it as lines, each "Name: value\r\n".
void append_decision_fields(std::string& out, const Decision& decision, bool legacy);

}  // namespace weir::render
