// Expiries: tokens and API keys whose time has passed. They stay in their lists, so the audit trail itself says which
// of them have an entry about that.
//
// Functions on a session, which belongs to its thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "database/session.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::control {

inline constexpr std::string_view kTokenExpired = "token.expire";
inline constexpr std::string_view kKeyExpired = "key.expire";

// In a transaction that writes. Until it ends, no other node gets past this: each expiry has one entry.
Status begin_expiries(database::Session& session);
// The ids of tokens, or of keys, that have expired, were not revoked, and have no such entry. At most `limit`.
Result<std::vector<std::string>> expired_tokens(database::Session& session, TimePoint now, std::int64_t limit);
Result<std::vector<std::string>> expired_keys(database::Session& session, TimePoint now, std::int64_t limit);

}  // namespace weir::control
