#include "control/audit_trail.h"

namespace weir::control {
namespace {

using database::Row;
using database::Rows;
using database::Statement;

const Statement kAppendEntry{
    "INSERT INTO audit_entry (at, actor, origin, action, object, before_json, after_json, reason, node) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"};

// By time: most entries are about the same few objects, so their index is no help here.
const Statement kAppendOnce{
    "INSERT INTO audit_entry (at, actor, origin, action, object, before_json, after_json, reason, node) "
    "SELECT CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), "
    "CAST($6 AS TEXT), CAST($7 AS TEXT), CAST($8 AS TEXT), CAST($9 AS TEXT) WHERE NOT EXISTS "
    "(SELECT 1 FROM audit_entry WHERE at = CAST($1 AS BIGINT) AND object || '' = CAST($5 AS TEXT) "
    "AND after_json = CAST($7 AS TEXT) AND node = CAST($9 AS TEXT))"};

// Both databases compare the first characters of what is longer with what was asked for and its separator.
const Statement kReadEntries{
    "SELECT id, at, actor, origin, action, object, before_json, after_json, reason, node FROM audit_entry "
    "WHERE id < $1 AND at >= $2 AND at <= $3 AND (CAST($4 AS TEXT) = '' OR actor = $4) "
    "AND (CAST($5 AS TEXT) = '' OR action = $5 OR substr(action, 1, length($5) + 1) = $5 || '.') "
    "AND (CAST($6 AS TEXT) = '' OR object = $6 OR substr(object, 1, length($6) + 1) = $6 || '/') "
    "ORDER BY id DESC LIMIT $7"};

Status add(database::Session& session, const Statement& statement, const AuditEntry& entry) {
  const Result<Rows> added = session.run(statement, micros(entry.at), entry.actor, entry.from, entry.action,
                                         entry.object, entry.before, entry.after, entry.reason, entry.node);
  if (!added.ok()) return added.failure();
  return success();
}

AuditEntry audit_entry_of(const Row& row) {
  using database::number;
  using database::text;
  return {.id = number(row[0]),
          .at = from_micros(number(row[1])),
          .actor = text(row[2]),
          .from = text(row[3]),
          .action = text(row[4]),
          .object = text(row[5]),
          .before = text(row[6]),
          .after = text(row[7]),
          .reason = text(row[8]),
          .node = text(row[9])};
}

}  // namespace

Status append(database::Session& session, const AuditEntry& entry) { return add(session, kAppendEntry, entry); }

Status append_once(database::Session& session, const AuditEntry& entry) { return add(session, kAppendOnce, entry); }

Result<std::vector<AuditEntry>> read_audit(database::Session& session, const AuditFilter& filter, std::int64_t below,
                                           std::int64_t limit) {
  const Result<Rows> rows = session.run(kReadEntries, below, micros(filter.from), micros(filter.to), filter.actor,
                                        filter.action, filter.object, limit);
  if (!rows.ok()) return rows.failure();
  std::vector<AuditEntry> entries;
  entries.reserve(rows.value().size());
  for (const Row& row : rows.value()) entries.push_back(audit_entry_of(row));
  return entries;
}

}  // namespace weir::control
