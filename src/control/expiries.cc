#include "control/expiries.h"

#include "control/change_log.h"

namespace weir::control {
namespace {

using database::Rows;
using database::Statement;

const Statement kExpiredTokens{
    "SELECT id FROM admin_token WHERE expires_at <= $1 AND revoked_at IS NULL AND NOT EXISTS (SELECT 1 FROM "
    "audit_entry WHERE object = 'token/' || admin_token.id AND action = 'token.expire') ORDER BY expires_at LIMIT $2"};
const Statement kExpiredKeys{
    "SELECT id FROM control_key WHERE expires_at <= $1 AND revoked_at IS NULL AND NOT EXISTS (SELECT 1 FROM "
    "audit_entry WHERE object = 'key/' || control_key.id AND action = 'key.expire') ORDER BY expires_at LIMIT $2"};

Result<std::vector<std::string>> ids_of(const Result<Rows>& rows) {
  if (!rows.ok()) return rows.failure();
  std::vector<std::string> ids;
  for (const database::Row& row : rows.value()) ids.push_back(database::text(row[0]));
  return ids;
}

}  // namespace

// No node keeps anything of this topic: its row is the lock.
Status begin_expiries(database::Session& session) { return note_change(session, "expiries"); }

Result<std::vector<std::string>> expired_tokens(database::Session& session, TimePoint now, std::int64_t limit) {
  return ids_of(session.run(kExpiredTokens, micros(now), limit));
}

Result<std::vector<std::string>> expired_keys(database::Session& session, TimePoint now, std::int64_t limit) {
  return ids_of(session.run(kExpiredKeys, micros(now), limit));
}

}  // namespace weir::control
