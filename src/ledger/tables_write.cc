#include <algorithm>

#include "ledger/rows.h"
#include "ledger/tables.h"

namespace weir::ledger {
namespace {

using database::Batch;
using database::Rows;
using database::Session;
using database::SetStatement;
using database::Statement;

const SetStatement kUpdateAccounts{
    {"UPDATE ledger_account SET unit_limit = $2, limit_since = $3, grace = $4, record_overage = $5, thresholds = $6,"
     " issued = $7, available = $8, held = $9, used = $10, expired = $11, granted = $12, grace_used = $13,"
     " overage = $14, granted_left = $15, version = $16 WHERE id = $1"},
    {"UPDATE ledger_account AS a SET unit_limit = k.unit_limit, limit_since = k.limit_since, grace = k.grace,"
     " record_overage = k.record_overage, thresholds = k.thresholds, issued = k.issued, available = k.available,"
     " held = k.held, used = k.used, expired = k.expired, granted = k.granted, grace_used = k.grace_used,"
     " overage = k.overage, granted_left = k.granted_left, version = k.version"
     " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],"
     " $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],"
     " $15::bigint[], $16::bigint[]) AS k (id, unit_limit, limit_since, grace, record_overage, thresholds, issued,"
     " available, held, used, expired, granted, grace_used, overage, granted_left, version) WHERE a.id = k.id"}};
const SetStatement kAddEntries{
    {"INSERT INTO ledger_entry (account, version, operation, reach, kind, from_bucket, to_bucket, amount, about, actor,"
     " reason, effective_at, recorded_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"},
    {"INSERT INTO ledger_entry (account, version, operation, reach, kind, from_bucket, to_bucket, amount, about, actor,"
     " reason, effective_at, recorded_at) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[],"
     " $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[], $11::text[], $12::bigint[],"
     " $13::bigint[])"}};
const Statement kPutGrant{
    "INSERT INTO ledger_grant (id, rule, subject, account, amount, arrived, remaining, priority, expires_at, "
    "created_at,"
    " actor, reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    " ON CONFLICT (id) DO UPDATE SET account = $4, arrived = $6, remaining = $7"};
const SetStatement kPutSlices{
    {"INSERT INTO ledger_slice (account, node, epoch, held, expired, expires_at) VALUES ($1, $2, $3, $4, $5, $6)"
     " ON CONFLICT (account, node, epoch) DO UPDATE SET held = $4, expired = $5, expires_at = $6"},
    {"INSERT INTO ledger_slice (account, node, epoch, held, expired, expires_at)"
     " SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])"
     " ON CONFLICT (account, node, epoch) DO UPDATE"
     " SET held = EXCLUDED.held, expired = EXCLUDED.expired, expires_at = EXCLUDED.expires_at"}};
const SetStatement kAddReservations{
    {"INSERT INTO ledger_reservation (id, state, commit_on_expiry, granted, actual, created_at, expires_at)"
     " VALUES ($1, $2, $3, $4, $5, $6, $7)"},
    {"INSERT INTO ledger_reservation (id, state, commit_on_expiry, granted, actual, created_at, expires_at)"
     " SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],"
     " $7::bigint[])"}};
const SetStatement kUpdateReservations{
    {"UPDATE ledger_reservation SET state = $2, granted = $3, actual = $4, expires_at = $5 WHERE id = $1"},
    {"UPDATE ledger_reservation AS r SET state = k.state, granted = k.granted, actual = k.actual,"
     " expires_at = k.expires_at FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])"
     " AS k (id, state, granted, actual, expires_at) WHERE r.id = k.id"}};
const SetStatement kPutLegs{
    {"INSERT INTO ledger_reservation_leg (reservation, account, held, fixed) VALUES ($1, $2, $3, $4)"
     " ON CONFLICT (reservation, account) DO UPDATE SET held = $3"},
    {"INSERT INTO ledger_reservation_leg (reservation, account, held, fixed)"
     " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])"
     " ON CONFLICT (reservation, account) DO UPDATE SET held = EXCLUDED.held"}};
const Statement kPutNode{
    "INSERT INTO ledger_node (name, epoch, seen_at) VALUES ($1, $2, $3)"
    " ON CONFLICT (name) DO UPDATE SET epoch = $2, seen_at = $3"};
const Statement kAddBatch{"INSERT INTO ledger_usage_batch (node, epoch, seq, recorded_at) VALUES ($1, $2, $3, $4)"};
const Statement kRenew{
    "UPDATE ledger_slice SET expires_at = $3 WHERE node = $1 AND epoch = $2 AND holding AND expires_at < $3"};
const SetStatement kAddAnswers{
    {"INSERT INTO ledger_answer (id, request, operation, answer, keep_until) VALUES ($1, $2, $3, $4, $5)"},
    {"INSERT INTO ledger_answer (id, request, operation, answer, keep_until)"
     " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])"}};
const SetStatement kUpdateAnswers{
    {"UPDATE ledger_answer SET request = $2, operation = $3, answer = $4, keep_until = $5 WHERE id = $1"},
    {"UPDATE ledger_answer AS a SET request = k.request, operation = k.operation, answer = k.answer,"
     " keep_until = k.keep_until FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])"
     " AS k (id, request, operation, answer, keep_until) WHERE a.id = k.id"}};
const SetStatement kAddNotices{
    {"INSERT INTO ledger_notice (account, threshold, used, reached_at) VALUES ($1, $2, $3, $4)"
     " ON CONFLICT (account, threshold) DO NOTHING"},
    {"INSERT INTO ledger_notice (account, threshold, used, reached_at)"
     " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])"
     " ON CONFLICT (account, threshold) DO NOTHING"}};

std::int64_t flag(bool set) { return set ? 1 : 0; }

// One statement for all rows; none for none.
void add_rows(Batch& batch, const SetStatement& statement, Rows rows) {
  if (!rows.empty()) batch.add_set(statement, std::move(rows));
}

void add_accounts(Batch& batch, const Books& books) {
  Rows accounts;
  Rows notices;
  for (const auto& [id, account] : books.accounts) {
    if (!account.changed()) continue;
    const Account& now = account.now;
    accounts.push_back({id, now.limit, micros(now.limit_since), now.grace, flag(now.record_overage),
                        numbers_text(now.thresholds), now.issued, now.available, now.held, now.used, now.expired,
                        now.granted, now.grace_used, now.overage, now.granted_left, now.version});
    const std::vector<std::int64_t>& before = account.read->thresholds;
    for (const std::int64_t threshold : now.thresholds) {
      const bool is_new = std::find(before.begin(), before.end(), threshold) == before.end();
      if (threshold <= now.used && (is_new || account.read->used < threshold)) {
        notices.push_back({id, threshold, now.used, micros(books.now())});
      }
    }
  }
  add_rows(batch, kUpdateAccounts, std::move(accounts));
  add_rows(batch, kAddNotices, std::move(notices));
}

void add_entries(Batch& batch, const Books& books) {
  Rows rows;
  rows.reserve(books.entries.size());
  for (const Entry& entry : books.entries) {
    const Movement movement = movement_of(entry.kind);
    rows.push_back({entry.account, entry.version, entry.operation, entry.reach, std::string(kind_name(entry.kind)),
                    std::string(bucket_name(movement.from)), std::string(bucket_name(movement.to)), entry.amount,
                    entry.about, entry.actor, entry.reason, micros(entry.effective), micros(entry.recorded)});
  }
  add_rows(batch, kAddEntries, std::move(rows));
}

void add_reservations(Batch& batch, const Books& books) {
  Rows added;
  Rows changed;
  Rows legs;
  for (const auto& [id, reservation] : books.reservations) {
    if (!reservation.changed()) continue;
    const Reservation& now = reservation.now;
    const std::string state(state_name(now.state));
    if (reservation.read) {
      changed.push_back({id, state, now.granted, now.actual, micros(now.expires)});
    } else {
      added.push_back(
          {id, state, flag(now.commit_on_expiry), now.granted, now.actual, micros(now.created), micros(now.expires)});
    }
    for (const ReservationLeg& leg : now.legs) legs.push_back({id, leg.account, leg.held, flag(leg.fixed)});
  }
  add_rows(batch, kAddReservations, std::move(added));
  add_rows(batch, kUpdateReservations, std::move(changed));
  add_rows(batch, kPutLegs, std::move(legs));
}

void add_nodes(Batch& batch, const Books& books) {
  for (const auto& [name, node] : books.nodes) {
    if (node.changed()) batch.add(kPutNode, name, node.now.epoch, micros(node.now.seen));
  }
  for (const auto& [key, is_new] : books.batches) {
    if (is_new) batch.add(kAddBatch, std::get<0>(key), std::get<1>(key), std::get<2>(key), micros(books.now()));
  }
  Rows slices;
  for (const auto& [key, slice] : books.slices) {
    if (!slice.changed()) continue;
    slices.push_back({slice.now.account, slice.now.node, slice.now.epoch, slice.now.held, slice.now.expired,
                      micros(slice.now.expires)});
  }
  add_rows(batch, kPutSlices, std::move(slices));
  for (const auto& [key, until] : books.renewals) batch.add(kRenew, std::get<0>(key), std::get<1>(key), micros(until));
}

void add_answers(Batch& batch, const Books& books) {
  Rows added;
  Rows changed;
  for (const auto& [key, answer] : books.remembered) {
    if (!answer.changed()) continue;
    (answer.read ? changed : added)
        .push_back({key, answer.now.request, answer.now.operation, answer.now.answer, micros(answer.now.keep_until)});
  }
  add_rows(batch, kAddAnswers, std::move(added));
  add_rows(batch, kUpdateAnswers, std::move(changed));
}

}  // namespace

Status write_changes(Session& session, const Books& books) {
  Batch batch;
  add_answers(batch, books);
  add_accounts(batch, books);
  add_entries(batch, books);
  for (const auto& [id, grant] : books.grants) {
    if (!grant.changed()) continue;
    const Grant& now = grant.now;
    batch.add(kPutGrant, id, now.rule, now.subject, now.account, now.amount, now.arrived, now.left, now.priority,
              micros(now.expires), micros(now.created), now.actor, now.reason);
  }
  add_reservations(batch, books);
  add_nodes(batch, books);
  const Result<std::vector<Rows>> written = session.run(batch);
  if (!written.ok()) return written.failure();
  return success();
}

}  // namespace weir::ledger
