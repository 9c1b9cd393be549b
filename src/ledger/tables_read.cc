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
using database::Statement;
using database::text;

const Statement kNode{"SELECT name, epoch, seen_at FROM ledger_node WHERE name = $1 FOR UPDATE"};
const Statement kRemembered{
    "SELECT id, request, operation, answer, keep_until FROM ledger_answer WHERE id = $1 FOR UPDATE"};
const Statement kBatch{"SELECT seq FROM ledger_usage_batch WHERE node = $1 AND epoch = $2 AND seq = $3"};
const Statement kReservation{"SELECT " WEIR_LEDGER_RESERVATION_COLUMNS
                             " FROM ledger_reservation WHERE id = $1 FOR UPDATE"};
const Statement kLegs{
    "SELECT account, held, fixed FROM ledger_reservation_leg WHERE reservation = $1 ORDER BY account"};
const Statement kEarlier{"SELECT " WEIR_LEDGER_ENTRY_COLUMNS " FROM ledger_entry WHERE operation = $1 ORDER BY seq"};
const Statement kReversal{"SELECT 1 FROM ledger_entry WHERE about = $1 AND kind = 'reversal' LIMIT 1"};
const Statement kLiveNodes{"SELECT COUNT(*) FROM ledger_node WHERE seen_at > $1"};
const Statement kAccountId{"SELECT id FROM ledger_account WHERE rule = $1 AND subject = $2 AND period = $3"};
const Statement kAddAccount{
    "INSERT INTO ledger_account (rule, subject, period, tenant, begins_at, ends_at, unit_limit, limit_since, grace,"
    " record_overage, thresholds, issued, available, held, used, expired, granted, grace_used, overage, granted_left,"
    " version) VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"
    " ON CONFLICT (rule, subject, period) DO NOTHING"};
const Statement kAccount{"SELECT " WEIR_LEDGER_ACCOUNT_COLUMNS " FROM ledger_account WHERE id = $1 FOR UPDATE"};
const Statement kSlice{
    "SELECT account, node, epoch, held, expired, expires_at FROM ledger_slice"
    " WHERE account = $1 AND node = $2 AND epoch = $3 FOR UPDATE"};
const Statement kGrants{"SELECT " WEIR_LEDGER_GRANT_COLUMNS
                        " FROM ledger_grant WHERE rule = $1 AND subject = $2 ORDER BY id FOR UPDATE"};

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
    for (const std::string& key : needs_.keys) {
      reads_.add([this](const Rows& rows) { return take_remembered(rows); }, kRemembered, key);
    }
    for (const auto& key : needs_.batches) {
      const auto& [node, epoch, seq] = key;
      reads_.add(
          [this, key](const Rows& rows) {
            if (!rows.empty()) books_.batches[key] = false;
            return success();
          },
          kBatch, node, epoch, seq);
    }
    for (const std::string& id : needs_.reservations) {
      reads_.add([this](const Rows& rows) { return take_reservation(rows); }, kReservation, id);
      reads_.add([this, id](const Rows& rows) { return take_legs(id, rows); }, kLegs, id);
    }
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
    for (const auto& [key, terms] : needs_.accounts) ask_for_id(key);
  }

  void ask_for_id(const AccountKey& key) {
    reads_.add(
        [this, &key](const Rows& rows) {
          if (!rows.empty()) books_.ids[key] = number(rows[0][0]);
          return success();
        },
        kAccountId, key.rule, key.subject, key.period);
  }

  Status add_missing_accounts() {
    bool any = false;
    for (const auto& [key, terms] : needs_.accounts) {
      if (terms == nullptr || books_.ids.contains(key)) continue;
      any = true;
      reads_.add({}, kAddAccount, key.rule, key.subject, key.period, terms->tenant, micros(terms->begins),
                 micros(terms->ends));
      ask_for_id(key);
    }
    if (!any) return success();
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
    for (const std::int64_t id : ids) ask_for_account(id);
  }

  void ask_for_account(std::int64_t id) {
    reads_.add(
        [this](const Rows& rows) {
          for (const Row& row : rows) {
            Account account = account_of(row);
            books_.ids[account.key] = account.id;
            const std::int64_t found = account.id;
            books_.accounts[found] = {account, std::move(account)};
          }
          return success();
        },
        kAccount, id);
  }

  void ask_for_slices() {
    std::set<Books::SliceKey> wanted = needs_.slice_ids;
    for (const auto& [key, node, epoch] : needs_.slices) {
      const auto id = books_.ids.find(key);
      if (id != books_.ids.end()) wanted.emplace(id->second, node, epoch);
    }
    for (const auto& [account, node, epoch] : wanted) {
      reads_.add([this](const Rows& rows) { return take_slices(rows); }, kSlice, account, node, epoch);
    }
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
    for (const auto& [rule, subject] : subjects) {
      reads_.add([this](const Rows& rows) { return take_grants(rows); }, kGrants, rule, subject);
    }
    if (Status read = reads_.run(); !read.ok()) return read;
    std::set<std::int64_t> elsewhere;
    for (const auto& [id, grant] : books_.grants) {
      if (!books_.accounts.contains(grant.now.account)) elsewhere.insert(grant.now.account);
    }
    for (const std::int64_t id : elsewhere) ask_for_account(id);
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

  Status take_reservation(const Rows& rows) {
    for (const Row& row : rows) {
      Result<Reservation> read = reservation_of(row);
      if (!read.ok()) return read.failure();
      const Reservation& reservation = read.value();
      books_.reservations[reservation.id] = {reservation, reservation};
    }
    return success();
  }

  Status take_legs(const std::string& id, const Rows& rows) {
    const auto reservation = books_.reservations.find(id);
    if (reservation == books_.reservations.end()) return success();
    for (const Row& row : rows)
      reservation->second.now.legs.push_back({number(row[0]), number(row[1]), number(row[2]) != 0});
    reservation->second.read = reservation->second.now;
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
