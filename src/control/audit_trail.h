// The audit trail: who changed what, when, from where, and why. One entry for each change, written in the transaction
// that makes the change, so that there is never one without the other.
//
//   control::append(session, {.at = now, .actor = "ada", .from = "192.0.2.7", .action = "override.create",
//                             .object = "override/o_7", .after = json, .reason = "launch", .node = "weir-1"});
//
// The database refuses to change or delete entries (triggers; with PostgreSQL privileges too). An action is
// "thing.verb", an object "thing/id". `before` and `after` are JSON; empty: there was, or is, nothing. Secrets are
// never part of an entry.
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

struct AuditEntry {
  std::int64_t id = 0;  // given by the database
  TimePoint at{};
  std::string actor;
  std::string from;
  std::string action;
  std::string object;
  std::string before;  // JSON, or empty
  std::string after;   // JSON, or empty
  std::string reason;
  std::string node;
};

// What is empty matches everything. An action or object also matches those below it: "override" matches
// "override.create", and "tenant/acme" itself.
struct AuditFilter {
  std::string actor;
  std::string action;
  std::string object;
  TimePoint from{};                 // and later
  TimePoint to = TimePoint::max();  // and earlier
};

Status append(database::Session& session, const AuditEntry& entry);
// Nothing if there is one of the same time, node, object and `after`: for work that is repeated when it is not known
// whether it was committed.
Status append_once(database::Session& session, const AuditEntry& entry);

// Newest first, at most `limit`, and only those with an id below `below`.
Result<std::vector<AuditEntry>> read_audit(database::Session& session, const AuditFilter& filter, std::int64_t below,
                                           std::int64_t limit);

}  // namespace weir::control
