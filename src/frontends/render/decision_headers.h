// A decision as header fields, for every front end that has headers. Plain functions on strings.
//
//   ietf              RateLimit-Policy, RateLimit                           draft-ietf-httpapi-ratelimit-headers
//   x-ratelimit       X-RateLimit-Limit, -Remaining, -Reset                 what many APIs send
//   ratelimit-legacy  RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset the same names in older drafts
//
// HeaderOptions says which of them are sent. Retry-After belongs to none of them: a denial that a wait helps always has
// it. Only enforced rules are shown: what a shadow rule would have done is for the operator only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/decision.h"
#include "weir/result.h"

namespace weir::render {

struct HeaderOptions {
  bool ietf = true;
  bool x_ratelimit = false;
  bool ratelimit_legacy = false;
  bool reset_as_unix_time = false;  // what the -Reset fields hold; false: seconds from now

  friend bool operator==(const HeaderOptions&, const HeaderOptions&) = default;
};

// From the names above, or `off` alone for none of them. The failure names the entry that is not known, or is there
// twice.
Result<HeaderOptions> parse_header_names(std::span<const std::string> names);

// `"search-per-key";q=120;w=60`, one item for each enforced rule, in the order of the rules file; appends nothing if
// there is none.
void append_rate_limit_policy(std::string& out, const Decision& decision);
// `"search-per-key";r=119;t=1`, likewise. `t` is the time until there is more (quota_time.h), in whole seconds, rounded
// up; it is left out of a rule that has its whole allowance.
void append_rate_limit(std::string& out, const Decision& decision);

// Whole seconds, at least 1 and never earlier than any `t` of a rule that denied; 0 when no such field is due: the
// request is allowed, or no wait can help.
std::int64_t retry_after_seconds(const Decision& decision);

// The numbers of the two older families: those of the most restrictive rule; nothing if there is none.
struct LimitNumbers {
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  // On a denial when the wait is over, otherwise when the rule has its whole allowance: seconds from now, or Unix time
  // in seconds; rounded up.
  std::int64_t reset = 0;
};
std::optional<LimitNumbers> limit_numbers(const Decision& decision, const HeaderOptions& options);

// All of it as lines, each "Name: value\r\n".
void append_decision_fields(std::string& out, const Decision& decision, const HeaderOptions& options);

}  // namespace weir::render
