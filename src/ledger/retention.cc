#include "ledger/retention.h"

#include <algorithm>

#include "ledger/rows.h"

namespace weir::ledger {
namespace {

using database::Access;
using database::Batch;
using database::number;
using database::Outcome;
using database::Row;
using database::Rows;
using database::Session;
using database::Statement;

// Accounts that can go, with how many entries they have and the number of the last.
const Statement kCandidates{
    "SELECT a.id, (SELECT COUNT(*) FROM ledger_entry e WHERE e.account = a.id),"
    " (SELECT CAST(COALESCE(MAX(e.seq), 0) AS bigint) FROM ledger_entry e WHERE e.account = a.id)"
    " FROM ledger_account a WHERE a.id > $1 AND a.ends_at <= $2 AND a.held = 0 AND a.granted_left = 0"
    " AND NOT EXISTS (SELECT 1 FROM ledger_grant g WHERE g.account = a.id AND g.remaining > 0)"
    " ORDER BY a.id LIMIT $3"};
// It is checked again, because a late report may have come.
const Statement kArchive{
    "INSERT INTO ledger_archive (account, rule, subject, period, tenant, begins_at, ends_at, unit_limit, used, expired,"
    " granted, overage, entries, first_at, last_at, archived_at)"
    " SELECT a.id, a.rule, a.subject, a.period, a.tenant, a.begins_at, a.ends_at, a.unit_limit, a.used, a.expired,"
    " a.granted, a.overage, (SELECT COUNT(*) FROM ledger_entry e WHERE e.account = a.id),"
    " (SELECT COALESCE(MIN(e.recorded_at), 0) FROM ledger_entry e WHERE e.account = a.id),"
    " (SELECT COALESCE(MAX(e.recorded_at), 0) FROM ledger_entry e WHERE e.account = a.id), CAST($2 AS bigint)"
    " FROM ledger_account a WHERE a.id = $1"};
const Statement kLockAccount{"SELECT id FROM ledger_account WHERE id = $1 FOR UPDATE"};
const Statement kLastEntry{"SELECT CAST(COALESCE(MAX(seq), 0) AS bigint) FROM ledger_entry WHERE account = $1"};
const Statement kEntries{"DELETE FROM ledger_entry WHERE account = $1 RETURNING 1"};
const Statement kNotices{"DELETE FROM ledger_notice WHERE account = $1"};
const Statement kSlices{"DELETE FROM ledger_slice WHERE account = $1"};
const Statement kLegs{"DELETE FROM ledger_reservation_leg WHERE account = $1"};
const Statement kGrants{"DELETE FROM ledger_grant WHERE account = $1"};
const Statement kAccount{"DELETE FROM ledger_account WHERE id = $1"};
const Statement kReservations{
    "DELETE FROM ledger_reservation WHERE state <> 'open' AND expires_at <= $1 AND NOT EXISTS"
    " (SELECT 1 FROM ledger_reservation_leg l WHERE l.reservation = ledger_reservation.id)"};
// Batches that no node sends again: of earlier epochs, and far behind the latest of this one.
const Statement kBatches{
    "DELETE FROM ledger_usage_batch WHERE recorded_at <= $1 AND"
    " (epoch < (SELECT n.epoch FROM ledger_node n WHERE n.name = ledger_usage_batch.node)"
    " OR seq + 1000 < (SELECT MAX(b.seq) FROM ledger_usage_batch b WHERE b.node = ledger_usage_batch.node"
    " AND b.epoch = ledger_usage_batch.epoch))"};

const Statement kExported{"SELECT last_seq FROM ledger_exported WHERE one = 1"};
const Statement kNewest{"SELECT CAST(COALESCE(MAX(seq), 0) AS bigint) FROM ledger_entry"};
const Statement kNoteExported{
    "INSERT INTO ledger_exported (one, last_seq, noted_at, actor) VALUES (1, $1, $2, $3)"
    " ON CONFLICT (one) DO UPDATE SET last_seq = $1, noted_at = $2, actor = $3 WHERE ledger_exported.last_seq < $1"};

constexpr std::int64_t kAtOnce = 50;  // accounts in one transaction

struct Page {
  std::int64_t after = 0;
  bool more = false;
  Pruned found;
};

// One account. Counts it as removed, or as unexported if something was recorded in it meanwhile; not at all if another
// node has removed it.
Status remove_account(Session& session, std::int64_t id, const Retention& retention, TimePoint now, Pruned& counts) {
  Batch look;
  look.add(kLockAccount, id);
  look.add(kLastEntry, id);
  const Result<std::vector<Rows>> seen = session.run(look);
  if (!seen.ok()) return seen.failure();
  if (seen.value()[0].empty()) return success();
  if (number(seen.value()[1][0][0]) > retention.exported) {
    ++counts.unexported;
    return success();
  }
  Batch batch;
  batch.add(kArchive, id, micros(now));
  batch.add(kEntries, id);
  for (const Statement* each : {&kNotices, &kSlices, &kLegs, &kGrants, &kAccount}) batch.add(*each, id);
  const Result<std::vector<Rows>> done = session.run(batch);
  if (!done.ok()) return done.failure();
  ++counts.accounts;
  counts.entries += static_cast<std::int64_t>(done.value()[1].size());
  return success();
}

Status prune_page(Session& session, const Retention& retention, TimePoint now, Page& page) {
  const Page start = page;
  page = {start.after, false, {}};
  const Result<Rows> rows = session.run(kCandidates, start.after, micros(retention.before), kAtOnce);
  if (!rows.ok()) return rows.failure();
  page.more = static_cast<std::int64_t>(rows.value().size()) == kAtOnce;
  for (const Row& row : rows.value()) {
    page.after = number(row[0]);
    if (number(row[2]) > retention.exported) {
      ++page.found.unexported;
      continue;
    }
    if (retention.dry_run) {
      ++page.found.accounts;
      page.found.entries += number(row[1]);
      continue;
    }
    if (Status removed = remove_account(session, page.after, retention, now, page.found); !removed.ok()) return removed;
  }
  return success();
}

}  // namespace

Result<std::int64_t> exported_up_to(Session& session) {
  const Result<Rows> rows = session.run(kExported);
  if (!rows.ok()) return rows.failure();
  return rows.value().empty() ? std::int64_t{0} : number(rows.value()[0][0]);
}

Status note_exported(Session& session, std::int64_t cursor, const std::string& actor, TimePoint now) {
  const Result<std::int64_t> noted = exported_up_to(session);
  if (!noted.ok()) return noted.failure();
  const Result<Rows> newest = session.run(kNewest);
  if (!newest.ok()) return newest.failure();
  if (cursor < 0 || cursor > std::max(noted.value(), number(newest.value()[0][0]))) {
    return Failure{Code::invalid_argument, "no entry has the number " + std::to_string(cursor) +
                                               " yet; expected the cursor that an export has printed"};
  }
  const Result<Rows> done = session.run(kNoteExported, cursor, micros(now), actor);
  if (!done.ok()) return done.failure();
  return success();
}

Result<Pruned> prune(database::Database& database, const Retention& retention, TimePoint now, const AlsoPruned& also) {
  if (retention.before > now - kClosesAfter) {
    return Failure{Code::invalid_argument, "periods are closed 24 hours after their end; expected an earlier time"};
  }
  Pruned sums;
  Page page;
  page.after = retention.after;
  std::size_t looked_at = 0;
  do {
    Page next;
    const Outcome outcome = database.run(
        retention.dry_run ? Access::read : Access::write,
        [&](Session& session) {
          next = page;
          return prune_page(session, retention, now, next);
        },
        std::chrono::minutes(10));
    if (!outcome.ok()) return outcome.status.failure();
    page = next;
    sums.accounts += page.found.accounts;
    sums.entries += page.found.entries;
    sums.unexported += page.found.unexported;
    looked_at += static_cast<std::size_t>(kAtOnce);
  } while (page.more && (retention.most == 0 || looked_at < retention.most));
  sums.after = page.after;
  sums.more = page.more;
  if (retention.dry_run) return sums;
  const Outcome outcome = database.run(
      Access::write,
      [&](Session& session) -> Status {
        Batch batch;
        batch.add(kReservations, micros(retention.before));
        batch.add(kBatches, micros(retention.before));
        if (const auto done = session.run(batch); !done.ok()) return done.failure();
        return also ? also(session, sums) : success();
      },
      std::chrono::minutes(10));
  if (!outcome.ok()) return outcome.status.failure();
  return sums;
}

}  // namespace weir::ledger
