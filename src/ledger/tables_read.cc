#include <algorithm>
#include <cassert>

#include "ledger/rows.h"
#include "ledger/tables.h"

namespace weir::ledger {
namespace {

using database::Batch;
using database::number;
using database::Row;
using database::Rows;
using database::Session;
using database::SetStatement;
using database::Statement;
using database::text;

const Statement kNode{"SELECT name, epoch, seen_at FROM ledger_node WHERE name = $1 FOR UPDATE"};
const SetStatement kRemembered{
    {"SELECT id, request, operation, answer, keep_until FROM ledger_answer WHERE id = $1 FOR UPDATE"},
    {"SELECT id, request, operation, answer, keep_until FROM ledger_answer WHERE id = ANY($1::text[])"
     " ORDER BY id FOR UPDATE"}};
const Statement kBatch{"SELECT seq FROM ledger_usage_batch WHERE node = $1 AND epoch = $2 AND seq = $3"};
const SetStatement kReservations{
    {"SELECT " WEIR_LEDGER_RESERVATION_COLUMNS " FROM ledger_reservation WHERE id = $1 FOR UPDATE"},
    {"SELECT " WEIR_LEDGER_RESERVATION_COLUMNS
     " FROM ledger_reservation WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE"}};
const SetStatement kLegs{
    {"SELECT reservation, account, held, fixed FROM ledger_reservation_leg WHERE reservation = $1 ORDER BY account"},
    {"SELECT reservation, account, held, fixed FROM ledger_reservation_leg WHERE reservation = ANY($1::text[])"
     " ORDER BY account"}};
const Statement kEarlier{"SELECT " WEIR_LEDGER_ENTRY_COLUMNS " FROM ledger_entry WHERE operation = $1 ORDER BY seq"};
const Statement kReversal{"SELECT 1 FROM ledger_entry WHERE about = $1 AND kind = 'reversal' LIMIT 1"};
const Statement kLiveNodes{"SELECT COUNT(*) FROM ledger_node WHERE seen_at > $1"};
const SetStatement kAccountIds{
    {"SELECT id, rule, subject, period FROM ledger_account WHERE rule = $1 AND subject = $2 AND period = $3"},
    {"SELECT a.id, a.rule, a.subject, a.period"
     " FROM unnest($1::text[], $2::text[], $3::text[]) AS k (rule, subject, period)"
     " JOIN ledger_account a ON a.rule = k.rule AND a.subject = k.subject AND a.period = k.period"}};
const SetStatement kAddAccounts{
    {"INSERT INTO ledger_account (rule, subject, period, tenant, begins_at, ends_at, unit_limit, limit_since, grace,"
     " record_overage, thresholds, issued, available, held, used, expired, granted, grace_used, overage, granted_left,"
     " version) VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"
     " ON CONFLICT (rule, subject, period) DO NOTHING"},
    {"INSERT INTO ledger_account (rule, subject, period, tenant, begins_at, ends_at, unit_limit, limit_since, grace,"
     " record_overage, thresholds, issued, available, held, used, expired, granted, grace_used, overage, granted_left,"
     " version) SELECT k.*, 0, 0, 0, 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
     " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[]) AS k"
     " ON CONFLICT (rule, subject, period) DO NOTHING"}};
const SetStatement kAccounts{
    {"SELECT " WEIR_LEDGER_ACCOUNT_COLUMNS " FROM ledger_account WHERE id = $1 FOR UPDATE"},
    {"SELECT " WEIR_LEDGER_ACCOUNT_COLUMNS " FROM ledger_account WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"}};
const SetStatement kSlices{{"SELECT account, node, epoch, held, expired, expires_at FROM ledger_slice"
                            " WHERE account = $1 AND node = $2 AND epoch = $3 FOR UPDATE"},
                           {"SELECT s.account, s.node, s.epoch, s.held, s.expired, s.expires_at"
                            " FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS k (account, node, epoch)"
                            " JOIN ledger_slice s ON s.account = k.account AND s.node = k.node AND s.epoch = k.epoch"
                            " ORDER BY s.account, s.node, s.epoch FOR UPDATE OF s"}};
const SetStatement kGrants{
    {"SELECT " WEIR_LEDGER_GRANT_COLUMNS " FROM ledger_grant WHERE rule = $1 AND subject = $2 ORDER BY id FOR UPDATE"},
    {"SELECT " WEIR_LEDGER_GRANT_COLUMNS " FROM ledger_grant WHERE (rule, subject) IN"
     " (SELECT k.rule, k.subject FROM unnest($1::text[], $2::text[]) AS k (rule, subject)) ORDER BY id FOR UPDATE"}};

// A node counts as live this long after it was last heard of.
constexpr Duration kLiveFor = std::chrono::minutes(2);

// Runs statements in one round trip and hands each answer to the function that was given with it.
class Reads {
 public:
  using Take = std::function<Status(const Rows&)>;

  explicit Reads(Session& session) : session_(session) {}

  template <typename... Values>
  void add(Take take, const Statement& statement, Values&&... values) {
    batch_.add(statement, std::forward<Values>(values)...);
    takes_.push_back(std::move(take));
  }
  // Nothing is asked for no rows.
  void add_set(Take take, const SetStatement& statement, Rows rows) {
    if (rows.empty()) return;
    batch_.add_set(statement, std::move(rows));
    takes_.push_back(std::move(take));
  }

  Status run() {
    const Result<std::vector<Rows>> answers = session_.run(batch_);
    if (!answers.ok()) return answers.failure();
    for (std::size_t i = 0; i < takes_.size(); ++i) {
      if (!takes_[i]) continue;
      if (Status taken = takes_[i](answers.value()[i]); !taken.ok()) return taken;
    }
    batch_ = {};
    takes_.clear();
    return success();
  }

 private:
  Session& session_;
  Batch batch_;
  std::vector<Take> takes_;
};

// Each as a row of one value.
template <typename Value>
Rows column(const std::set<Value>& values) {
  Rows rows;
  rows.reserve(values.size());
  for (const Value& value : values) rows.push_back({value});
  return rows;
}

class Reader {
 public:
  Reader(Session& session, const Needs& needs, Books& books) : reads_(session), needs_(needs), books_(books) {}

  Status run() {
    ask_for_records();
    ask_for_ids();
    if (Status read = reads_.run(); !read.ok()) return read;
    if (Status added = add_missing_accounts(); !added.ok()) return added;
    ask_for_accounts();
    ask_for_slices();
    if (Status read = reads_.run(); !read.ok()) return read;
    return read_grants();
  }

 private:
  // What is not an account, in the order of the tables.
  void ask_for_records() {
    for (const std::string& name : needs_.nodes) {
      reads_.add([this](const Rows& rows) { return take_nodes(rows); }, kNode, name);
    }
    reads_.add_set([this](const Rows& rows) { return take_remembered(rows); }, kRemembered, column(needs_.keys));
    for (const auto& key : needs_.batches) {
      const auto& [node, epoch, seq] = key;
      reads_.add(
          [this, key](const Rows& rows) {
            if (!rows.empty()) books_.batches[key] = false;
            return success();
          },
          kBatch, node, epoch, seq);
    }
    reads_.add_set([this](const Rows& rows) { return take_reservations(rows); }, kReservations,
                   column(needs_.reservations));
    reads_.add_set([this](const Rows& rows) { return take_legs(rows); }, kLegs, column(needs_.reservations));
    for (const std::string& id : needs_.operations) {
      reads_.add([this, id](const Rows& rows) { return take_earlier(id, rows); }, kEarlier, id);
      reads_.add(
          [this, id](const Rows& rows) {
            books_.reversed[id] = !rows.empty();
            return success();
          },
          kReversal, id);
    }
    if (needs_.live_nodes) {
      reads_.add(
          [this](const Rows& rows) {
            books_.live_nodes = std::max<std::int64_t>(number(rows[0][0]), 1);
            return success();
          },
          kLiveNodes, micros(books_.now() - kLiveFor));
    }
  }

  void ask_for_ids() {
    Rows keys;
    for (const auto& [key, terms] : needs_.accounts) keys.push_back({key.rule, key.subject, key.period});
    ask_for_ids(std::move(keys));
  }

  void ask_for_ids(Rows keys) {
    reads_.add_set(
        [this](const Rows& rows) {
          for (const Row& row : rows) books_.ids[{text(row[1]), text(row[2]), text(row[3])}] = number(row[0]);
          return success();
        },
        kAccountIds, std::move(keys));
  }

  Status add_missing_accounts() {
    Rows accounts;
    Rows keys;
    for (const auto& [key, terms] : needs_.accounts) {
      if (terms == nullptr || books_.ids.contains(key)) continue;
      if (books_.now() >= terms->ends + kClosesAfter && !needs_.late.contains(key)) continue;
      keys.push_back({key.rule, key.subject, key.period});
      accounts.push_back(
          {key.rule, key.subject, key.period, terms->tenant, micros(terms->begins), micros(terms->ends)});
    }
    if (accounts.empty()) return success();
    reads_.add_set({}, kAddAccounts, std::move(accounts));
    ask_for_ids(std::move(keys));
    return reads_.run();
  }

  void ask_for_accounts() {
    std::set<std::int64_t> ids = needs_.account_ids;
    for (const auto& [key, id] : books_.ids) ids.insert(id);
    for (const auto& [id, reservation] : books_.reservations) {
      for (const ReservationLeg& leg : reservation.now.legs) ids.insert(leg.account);
    }
    for (const auto& [operation, entries] : books_.earlier) {
      for (const Entry& entry : entries) ids.insert(entry.account);
    }
    ask_for_accounts(ids);
  }

  void ask_for_accounts(const std::set<std::int64_t>& ids) {
    reads_.add_set(
        [this](const Rows& rows) {
          for (const Row& row : rows) {
            Account account = account_of(row);
            books_.ids[account.key] = account.id;
            const std::int64_t found = account.id;
            books_.accounts[found] = {account, std::move(account)};
          }
          return success();
        },
        kAccounts, column(ids));
  }

  void ask_for_slices() {
    std::set<Books::SliceKey> wanted = needs_.slice_ids;
    for (const auto& [key, node, epoch] : needs_.slices) {
      const auto id = books_.ids.find(key);
      if (id != books_.ids.end()) wanted.emplace(id->second, node, epoch);
    }
    Rows keys;
    for (const auto& [account, node, epoch] : wanted) keys.push_back({account, node, epoch});
    reads_.add_set([this](const Rows& rows) { return take_slices(rows); }, kSlices, std::move(keys));
  }

  // Only accounts that have grants need them, and those that are opened now, because grants move into them.
  Status read_grants() {
    std::set<std::pair<std::string, std::string>> subjects;
    for (const auto& [id, account] : books_.accounts) {
      if (account.now.granted > 0 || account.now.version == 0) {
        subjects.emplace(account.now.key.rule, account.now.key.subject);
      }
    }
    if (subjects.empty()) return success();
    Rows keys;
    for (const auto& [rule, subject] : subjects) keys.push_back({rule, subject});
    reads_.add_set([this](const Rows& rows) { return take_grants(rows); }, kGrants, std::move(keys));
    if (Status read = reads_.run(); !read.ok()) return read;
    std::set<std::int64_t> elsewhere;
    for (const auto& [id, grant] : books_.grants) {
      if (!books_.accounts.contains(grant.now.account)) elsewhere.insert(grant.now.account);
    }
    ask_for_accounts(elsewhere);
    return reads_.run();
  }

  Status take_nodes(const Rows& rows) {
    for (const Row& row : rows) {
      Node node{text(row[0]), number(row[1]), from_micros(number(row[2]))};
      books_.nodes[node.name] = {node, node};
    }
    return success();
  }

  Status take_remembered(const Rows& rows) {
    for (const Row& row : rows) {
      Remembered answer{text(row[0]), text(row[1]), text(row[2]), text(row[3]), from_micros(number(row[4]))};
      books_.remembered[answer.key] = {answer, answer};
    }
    return success();
  }

  Status take_reservations(const Rows& rows) {
    for (const Row& row : rows) {
      Result<Reservation> read = reservation_of(row);
      if (!read.ok()) return read.failure();
      const Reservation& reservation = read.value();
      books_.reservations[reservation.id] = {reservation, reservation};
    }
    return success();
  }

  Status take_legs(const Rows& rows) {
    for (const Row& row : rows) {
      const auto reservation = books_.reservations.find(text(row[0]));
      if (reservation == books_.reservations.end()) continue;
      const ReservationLeg leg{number(row[1]), number(row[2]), number(row[3]) != 0};
      reservation->second.now.legs.push_back(leg);
      reservation->second.read->legs.push_back(leg);
    }
    return success();
  }

  Status take_earlier(const std::string& id, const Rows& rows) {
    for (const Row& row : rows) {
      Result<Entry> entry = entry_of(row);
      if (!entry.ok()) return entry.failure();
      books_.earlier[id].push_back(std::move(entry).value());
    }
    return success();
  }

  Status take_slices(const Rows& rows) {
    for (const Row& row : rows) {
      const Slice slice{number(row[0]), text(row[1]),   number(row[2]),
                        number(row[3]), number(row[4]), from_micros(number(row[5]))};
      books_.slices[{slice.account, slice.node, slice.epoch}] = {slice, slice};
    }
    return success();
  }

  Status take_grants(const Rows& rows) {
    for (const Row& row : rows) {
      const Grant grant = grant_of(row);
      books_.grants[grant.id] = {grant, grant};
    }
    return success();
  }

  Reads reads_;
  const Needs& needs_;
  Books& books_;
};

}  // namespace

Status read_needs(Session& session, const Needs& needs, Books& books) { return Reader(session, needs, books).run(); }

}  // namespace weir::ledger
