#include "ledger/reading.h"

#include <algorithm>

#include "ledger/rows.h"

namespace weir::ledger {
namespace {

using database::number;
using database::Row;
using database::Rows;
using database::Session;
using database::Statement;
using database::text;

const Statement kAccount{"SELECT " WEIR_LEDGER_ACCOUNT_COLUMNS
                         " FROM ledger_account WHERE rule = $1 AND subject = $2 AND period = $3"};
const Statement kAccounts{"SELECT " WEIR_LEDGER_ACCOUNT_COLUMNS
                          " FROM ledger_account WHERE id > $1 AND ($2 = '' OR tenant = $2) AND ($3 = '' OR rule = $3)"
                          " AND ($4 = '' OR subject = $4) AND ($5 = '' OR period = $5) ORDER BY id LIMIT $6"};
const Statement kGrants{
    "SELECT " WEIR_LEDGER_GRANT_COLUMNS
    " FROM ledger_grant WHERE rule = $1 AND subject = $2 ORDER BY priority, expires_at, created_at, id"};
const Statement kReservation{"SELECT " WEIR_LEDGER_RESERVATION_COLUMNS " FROM ledger_reservation WHERE id = $1"};
const Statement kOpenOnes{
    "SELECT r.id, l.held, r.created_at, r.expires_at FROM ledger_reservation r"
    " JOIN ledger_reservation_leg l ON l.reservation = r.id"
    " WHERE r.state = 'open' AND l.account = $1 ORDER BY r.created_at, r.id LIMIT $2"};
const Statement kLegs{
    "SELECT account, held, fixed FROM ledger_reservation_leg WHERE reservation = $1 ORDER BY account"};
const Statement kClosing{"SELECT " WEIR_LEDGER_ENTRY_COLUMNS
                         " FROM ledger_entry WHERE operation IN (SELECT operation FROM ledger_entry WHERE about = $1"
                         " AND kind IN ('commit', 'release', 'lapse')) ORDER BY seq"};
const Statement kPending{
    "SELECT account, threshold, used, reached_at FROM ledger_notice WHERE delivered_at IS NULL"
    " AND (claimed_by = $1 OR claimed_until <= $2) ORDER BY reached_at, account, threshold LIMIT $3"};
const Statement kAccountById{"SELECT " WEIR_LEDGER_ACCOUNT_COLUMNS " FROM ledger_account WHERE id = $1"};
const Statement kSlices{
    "SELECT s.account, s.node, s.epoch, s.held, s.expired, s.expires_at, a.rule, a.subject, a.period"
    " FROM ledger_slice s JOIN ledger_account a ON a.id = s.account WHERE s.held > 0 OR s.expired > 0"
    " ORDER BY s.node, s.epoch, s.account LIMIT $1"};
const Statement kSlicesOfNode{
    "SELECT s.account, s.node, s.epoch, s.held, s.expired, s.expires_at, a.rule, a.subject, a.period"
    " FROM ledger_slice s JOIN ledger_account a ON a.id = s.account WHERE s.node = $1 AND s.holding"
    " ORDER BY s.epoch, s.account"};
const Statement kClaim{
    "UPDATE ledger_notice SET claimed_by = $3, claimed_until = $5 WHERE account = $1 AND threshold = $2"
    " AND delivered_at IS NULL AND (claimed_by = $3 OR claimed_until <= $4) RETURNING 1"};
const Statement kDelivered{
    "UPDATE ledger_notice SET delivered_at = $3 WHERE account = $1 AND threshold = $2 AND delivered_at IS NULL"
    " RETURNING 1"};

std::vector<HeldByNode> slices_of(const Rows& rows) {
  std::vector<HeldByNode> slices;
  for (const Row& row : rows) {
    slices.push_back(
        {{number(row[0]), text(row[1]), number(row[2]), number(row[3]), number(row[4]), from_micros(number(row[5]))},
         {text(row[6]), text(row[7]), text(row[8])}});
  }
  return slices;
}

}  // namespace

Result<std::optional<Account>> read_account(Session& session, const AccountKey& key) {
  const Result<Rows> rows = session.run(kAccount, key.rule, key.subject, key.period);
  if (!rows.ok()) return rows.failure();
  if (rows.value().empty()) return std::optional<Account>();
  return std::optional<Account>(account_of(rows.value()[0]));
}

Result<std::optional<Account>> read_account(Session& session, std::int64_t id) {
  const Result<Rows> rows = session.run(kAccountById, id);
  if (!rows.ok()) return rows.failure();
  if (rows.value().empty()) return std::optional<Account>();
  return std::optional<Account>(account_of(rows.value()[0]));
}

Result<std::vector<Account>> list_accounts(Session& session, const AccountFilter& filter) {
  const auto most = static_cast<std::int64_t>(std::min(filter.most, kMaxListed + 1));
  const Result<Rows> rows =
      session.run(kAccounts, filter.after, filter.tenant, filter.rule, filter.subject, filter.period, most);
  if (!rows.ok()) return rows.failure();
  std::vector<Account> accounts;
  for (const Row& row : rows.value()) accounts.push_back(account_of(row));
  return accounts;
}

Result<std::vector<Grant>> read_grants(Session& session, const std::string& rule, const std::string& subject) {
  const Result<Rows> rows = session.run(kGrants, rule, subject);
  if (!rows.ok()) return rows.failure();
  std::vector<Grant> grants;
  for (const Row& row : rows.value()) grants.push_back(grant_of(row));
  return grants;
}

Result<std::vector<OpenReservation>> open_reservations(Session& session, std::int64_t account, std::size_t most) {
  const Result<Rows> rows = session.run(kOpenOnes, account, static_cast<std::int64_t>(std::min(most, kMaxListed)));
  if (!rows.ok()) return rows.failure();
  std::vector<OpenReservation> open;
  for (const Row& row : rows.value()) {
    open.push_back({text(row[0]), number(row[1]), from_micros(number(row[2])), from_micros(number(row[3]))});
  }
  return open;
}

Result<std::optional<Reservation>> read_reservation(Session& session, const std::string& id) {
  database::Batch batch;
  batch.add(kReservation, id);
  batch.add(kLegs, id);
  const Result<std::vector<Rows>> rows = session.run(batch);
  if (!rows.ok()) return rows.failure();
  if (rows.value()[0].empty()) return std::optional<Reservation>();
  Result<Reservation> reservation = reservation_of(rows.value()[0][0]);
  if (!reservation.ok()) return reservation.failure();
  for (const Row& row : rows.value()[1])
    reservation.value().legs.push_back({number(row[0]), number(row[1]), number(row[2]) != 0});
  return std::optional<Reservation>(std::move(reservation).value());
}

Result<std::vector<Entry>> read_closing(Session& session, const std::string& reservation) {
  const Result<Rows> rows = session.run(kClosing, reservation);
  if (!rows.ok()) return rows.failure();
  std::vector<Entry> entries;
  for (const Row& row : rows.value()) {
    Result<Entry> entry = entry_of(row);
    if (!entry.ok()) return entry.failure();
    entries.push_back(std::move(entry).value());
  }
  return entries;
}

Result<std::vector<HeldByNode>> list_slices(Session& session, std::size_t most) {
  const Result<Rows> rows = session.run(kSlices, static_cast<std::int64_t>(std::min(most, kMaxListed)));
  if (!rows.ok()) return rows.failure();
  return slices_of(rows.value());
}

Result<std::vector<HeldByNode>> list_slices(Session& session, const std::string& node) {
  const Result<Rows> rows = session.run(kSlicesOfNode, node);
  if (!rows.ok()) return rows.failure();
  return slices_of(rows.value());
}

Result<std::vector<PendingNotice>> pending_notices(Session& session, const std::string& node, TimePoint now,
                                                   std::size_t most) {
  const Result<Rows> rows =
      session.run(kPending, node, micros(now), static_cast<std::int64_t>(std::min(most, kMaxListed)));
  if (!rows.ok()) return rows.failure();
  std::vector<PendingNotice> pending;
  database::Batch batch;
  for (const Row& row : rows.value()) {
    pending.push_back({{number(row[0]), number(row[1]), number(row[2]), from_micros(number(row[3]))}, {}});
    batch.add(kAccountById, number(row[0]));
  }
  const Result<std::vector<Rows>> accounts = session.run(batch);
  if (!accounts.ok()) return accounts.failure();
  for (std::size_t i = 0; i < pending.size(); ++i) pending[i].account = account_of(accounts.value()[i].at(0));
  return pending;
}

Result<bool> claim_notice(Session& session, const Notice& notice, const std::string& node, TimePoint now,
                          TimePoint until) {
  const Result<Rows> rows = session.run(kClaim, notice.account, notice.threshold, node, micros(now), micros(until));
  if (!rows.ok()) return rows.failure();
  return !rows.value().empty();
}

Result<bool> mark_delivered(Session& session, const Notice& notice, TimePoint now) {
  const Result<Rows> rows = session.run(kDelivered, notice.account, notice.threshold, micros(now));
  if (!rows.ok()) return rows.failure();
  return !rows.value().empty();
}

}  // namespace weir::ledger
