#include <algorithm>

#include "ledger/rows.h"
#include "ledger/tables.h"

namespace weir::ledger {
namespace {

using database::Batch;
using database::Rows;
using database::Session;
using database::Statement;

const Statement kUpdateAccount{
    "UPDATE ledger_account SET unit_limit = $2, limit_since = $3, grace = $4, record_overage = $5, thresholds = $6,"
    " issued = $7, available = $8, held = $9, used = $10, expired = $11, granted = $12, grace_used = $13,"
    " overage = $14, granted_left = $15, version = $16 WHERE id = $1"};
const Statement kAddEntry{
    "INSERT INTO ledger_entry (account, version, operation, reach, kind, from_bucket, to_bucket, amount, about, actor,"
    " reason, effective_at, recorded_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"};
const Statement kPutGrant{
    "INSERT INTO ledger_grant (id, rule, subject, account, amount, arrived, remaining, priority, expires_at, "
    "created_at,"
    " actor, reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    " ON CONFLICT (id) DO UPDATE SET account = $4, arrived = $6, remaining = $7"};
const Statement kPutSlice{
    "INSERT INTO ledger_slice (account, node, epoch, held, expired, expires_at) VALUES ($1, $2, $3, $4, $5, $6)"
    " ON CONFLICT (account, node, epoch) DO UPDATE SET held = $4, expired = $5, expires_at = $6"};
const Statement kAddReservation{
    "INSERT INTO ledger_reservation (id, state, commit_on_expiry, granted, actual, created_at, expires_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"};
const Statement kUpdateReservation{
    "UPDATE ledger_reservation SET state = $2, granted = $3, actual = $4, expires_at = $5 WHERE id = $1"};
const Statement kPutLeg{
    "INSERT INTO ledger_reservation_leg (reservation, account, held, fixed) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (reservation, account) DO UPDATE SET held = $3"};
const Statement kPutNode{
    "INSERT INTO ledger_node (name, epoch, seen_at) VALUES ($1, $2, $3)"
    " ON CONFLICT (name) DO UPDATE SET epoch = $2, seen_at = $3"};
const Statement kAddBatch{"INSERT INTO ledger_usage_batch (node, epoch, seq, recorded_at) VALUES ($1, $2, $3, $4)"};
const Statement kRenew{
    "UPDATE ledger_slice SET expires_at = $3 WHERE node = $1 AND epoch = $2 AND held > 0 AND expires_at < $3"};
const Statement kAddAnswer{
    "INSERT INTO ledger_answer (id, request, operation, answer, keep_until) VALUES ($1, $2, $3, $4, $5)"};
const Statement kUpdateAnswer{
    "UPDATE ledger_answer SET request = $2, operation = $3, answer = $4, keep_until = $5 WHERE id = $1"};
const Statement kAddNotice{
    "INSERT INTO ledger_notice (account, threshold, used, reached_at) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (account, threshold) DO NOTHING"};

void add_accounts(Batch& batch, const Books& books) {
  for (const auto& [id, account] : books.accounts) {
    if (!account.changed()) continue;
    const Account& now = account.now;
    batch.add(kUpdateAccount, id, now.limit, micros(now.limit_since), now.grace,
              std::int64_t{now.record_overage ? 1 : 0}, numbers_text(now.thresholds), now.issued, now.available,
              now.held, now.used, now.expired, now.granted, now.grace_used, now.overage, now.granted_left, now.version);
    const std::vector<std::int64_t>& before = account.read->thresholds;
    for (const std::int64_t threshold : now.thresholds) {
      const bool is_new = std::find(before.begin(), before.end(), threshold) == before.end();
      if (threshold <= now.used && (is_new || account.read->used < threshold)) {
        batch.add(kAddNotice, id, threshold, now.used, micros(books.now()));
      }
    }
  }
}

void add_entries(Batch& batch, const Books& books) {
  for (const Entry& entry : books.entries) {
    const Movement movement = movement_of(entry.kind);
    batch.add(kAddEntry, entry.account, entry.version, entry.operation, entry.reach, std::string(kind_name(entry.kind)),
              std::string(bucket_name(movement.from)), std::string(bucket_name(movement.to)), entry.amount, entry.about,
              entry.actor, entry.reason, micros(entry.effective), micros(entry.recorded));
  }
}

void add_reservations(Batch& batch, const Books& books) {
  for (const auto& [id, reservation] : books.reservations) {
    if (!reservation.changed()) continue;
    const Reservation& now = reservation.now;
    if (reservation.read) {
      batch.add(kUpdateReservation, id, std::string(state_name(now.state)), now.granted, now.actual,
                micros(now.expires));
    } else {
      batch.add(kAddReservation, id, std::string(state_name(now.state)), std::int64_t{now.commit_on_expiry ? 1 : 0},
                now.granted, now.actual, micros(now.created), micros(now.expires));
    }
    for (const ReservationLeg& leg : now.legs) {
      batch.add(kPutLeg, id, leg.account, leg.held, std::int64_t{leg.fixed ? 1 : 0});
    }
  }
}

void add_nodes(Batch& batch, const Books& books) {
  for (const auto& [name, node] : books.nodes) {
    if (node.changed()) batch.add(kPutNode, name, node.now.epoch, micros(node.now.seen));
  }
  for (const auto& [key, is_new] : books.batches) {
    if (is_new) batch.add(kAddBatch, std::get<0>(key), std::get<1>(key), std::get<2>(key), micros(books.now()));
  }
  for (const auto& [key, slice] : books.slices) {
    if (!slice.changed()) continue;
    batch.add(kPutSlice, slice.now.account, slice.now.node, slice.now.epoch, slice.now.held, slice.now.expired,
              micros(slice.now.expires));
  }
  for (const auto& [key, until] : books.renewals) batch.add(kRenew, std::get<0>(key), std::get<1>(key), micros(until));
}

void add_answers(Batch& batch, const Books& books) {
  for (const auto& [key, answer] : books.remembered) {
    if (!answer.changed()) continue;
    batch.add(answer.read ? kUpdateAnswer : kAddAnswer, key, answer.now.request, answer.now.operation,
              answer.now.answer, micros(answer.now.keep_until));
  }
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
