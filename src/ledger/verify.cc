#include "ledger/verify.h"

#include "ledger/replay.h"
#include "ledger/rows.h"

namespace weir::ledger {
namespace {

using database::Access;
using database::number;
using database::Outcome;
using database::Row;
using database::Rows;
using database::Session;
using database::Statement;
using database::text;

const Statement kAccounts{"SELECT " WEIR_LEDGER_ACCOUNT_COLUMNS
                          " FROM ledger_account WHERE id > $1 ORDER BY id LIMIT $2"};
const Statement kEntries{
    "SELECT version, kind, from_bucket, to_bucket, amount, about FROM ledger_entry"
    " WHERE account = $1 AND version > $2 ORDER BY version LIMIT $3"};
const Statement kCounts{
    "SELECT (SELECT COUNT(*) FROM ledger_entry), (SELECT COUNT(*) FROM ledger_reservation),"
    " (SELECT COUNT(*) FROM ledger_grant)"};

constexpr std::int64_t kPage = 1000;
constexpr std::int64_t kAccountsAtOnce = 100;

// Each row that comes back is a violation; its columns make the message.
struct Query {
  std::string_view invariant;
  std::string_view what;
  Statement statement;
};

const Query kQueries[] = {
    {"I2",
     "account, held, by reservations, by slices",
     {"SELECT a.id, a.held, CAST(COALESCE(r.held, 0) AS bigint), CAST(COALESCE(s.held, 0) AS bigint)"
      " FROM ledger_account a"
      " LEFT JOIN (SELECT account, SUM(held) AS held FROM ledger_reservation_leg GROUP BY account) r"
      " ON r.account = a.id"
      " LEFT JOIN (SELECT account, SUM(held) AS held FROM ledger_slice GROUP BY account) s ON s.account = a.id"
      " WHERE a.held <> COALESCE(r.held, 0) + COALESCE(s.held, 0)"}},
    {"I2",
     "reservation that is closed and holds something",
     {"SELECT r.id FROM ledger_reservation r JOIN ledger_reservation_leg l ON l.reservation = r.id"
      " WHERE r.state <> 'open' AND l.held > 0"}},
    {"I2",
     "account whose expired units are fewer than those of its slices",
     {"SELECT a.id FROM ledger_account a JOIN (SELECT account, SUM(expired) AS expired FROM ledger_slice"
      " GROUP BY account) s ON s.account = a.id WHERE a.expired < s.expired"}},
    {"I2",
     "account whose grants do not add up to what is left of them",
     {"SELECT a.id FROM ledger_account a LEFT JOIN (SELECT account, SUM(remaining) AS remaining FROM ledger_grant"
      " GROUP BY account) g ON g.account = a.id WHERE a.granted_left <> COALESCE(g.remaining, 0)"}},
    {"I4",
     "reservation that was closed more than once in an account",
     {"SELECT about, account FROM ledger_entry WHERE kind IN ('commit', 'release', 'lapse')"
      " GROUP BY about, account HAVING COUNT(*) > 1"}},
    {"I4",
     "reservation that is open and has a closing entry, or is closed and has none",
     {"SELECT r.id, r.state FROM ledger_reservation r WHERE (r.state = 'open') = EXISTS (SELECT 1 FROM ledger_entry e"
      " WHERE e.about = r.id AND e.kind IN ('commit', 'release', 'lapse'))"}},
    {"I6",
     "key whose answer is that nothing was done, although something was",
     {"SELECT a.id, a.operation FROM ledger_answer a WHERE a.answer NOT LIKE '_ done %' AND EXISTS"
      " (SELECT 1 FROM ledger_entry e WHERE e.operation = a.operation AND e.to_bucket IN ('used', 'held'))"}},
    {"I6",
     "key whose answer is that something was done, although nothing was",
     {"SELECT a.id, a.operation FROM ledger_answer a WHERE a.answer LIKE '_ done %' AND a.answer NOT LIKE '_ done 0 0 "
      "%'"
      " AND NOT EXISTS (SELECT 1 FROM ledger_entry e WHERE e.operation = a.operation)"}},
    {"I7",
     "operation that has not reached all its accounts",
     {"SELECT o.operation FROM (SELECT operation, MIN(reach) AS least, MAX(reach) AS most,"
      " COUNT(DISTINCT account) AS reached, MIN(recorded_at) AS first_at, MAX(recorded_at) AS last_at"
      " FROM ledger_entry GROUP BY operation) o WHERE o.least <> o.most OR o.reached > o.least"
      " OR (o.reached < o.least AND NOT EXISTS (SELECT 1 FROM ledger_archive x"
      " WHERE x.first_at <= o.last_at AND x.last_at >= o.first_at))"}},
    {"I9",
     "entry without an account",
     {"SELECT e.seq FROM ledger_entry e WHERE NOT EXISTS (SELECT 1 FROM ledger_account a WHERE a.id = e.account)"}},
    {"I9",
     "account and version that are there twice",
     {"SELECT account, version FROM ledger_entry GROUP BY account, version HAVING COUNT(*) > 1"}},
};

std::string shown(const database::Value& value) {
  if (database::is_null(value)) return "nothing";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return text(value);
}

class Verification {
 public:
  explicit Verification(Session& session) : session_(session) {}

  Status run(VerifyReport& report) {
    report_ = {};
    if (Status checked = check_accounts(); !checked.ok()) return checked;
    for (const Query& query : kQueries) {
      if (Status checked = check_query(query); !checked.ok()) return checked;
    }
    const Result<Rows> counts = session_.run(kCounts);
    if (!counts.ok()) return counts.failure();
    const Row& row = counts.value()[0];
    if (number(row[0]) != report_.entries) {
      violated("I9", "there are " + std::to_string(number(row[0])) + " entries, and accounts have " +
                         std::to_string(report_.entries));
    }
    report_.reservations = number(row[1]);
    report_.grants = number(row[2]);
    report = std::move(report_);
    return success();
  }

 private:
  void violated(std::string_view invariant, const std::string& message) {
    ++report_.violations;
    if (report_.examples.size() < kMaxViolationsShown)
      report_.examples.push_back(std::string(invariant) + ": " + message);
  }

  Status check_accounts() {
    for (std::int64_t after = 0;;) {
      const Result<Rows> rows = session_.run(kAccounts, after, kAccountsAtOnce);
      if (!rows.ok()) return rows.failure();
      if (rows.value().empty()) return success();
      std::vector<Account> accounts;
      database::Batch first_pages;
      for (const Row& row : rows.value()) {
        accounts.push_back(account_of(row));
        first_pages.add(kEntries, accounts.back().id, std::int64_t{0}, kPage);
      }
      const Result<std::vector<Rows>> pages = session_.run(first_pages);
      if (!pages.ok()) return pages.failure();
      for (std::size_t i = 0; i < accounts.size(); ++i) {
        if (Status checked = check_account(accounts[i], pages.value()[i]); !checked.ok()) return checked;
      }
      after = accounts.back().id;
    }
  }

  Status check_account(const Account& account, const Rows& first_page) {
    ++report_.accounts;
    Replay replay;
    const auto report = [&](std::string_view invariant, const std::string& message) {
      violated(invariant, "account " + std::to_string(account.id) + " (" + account.key.rule + ", " +
                              account.key.subject + ", " + account.key.period + "): " + message);
    };
    Rows page = first_page;
    while (true) {
      for (const Row& row : page) {
        ++report_.entries;
        replay.add({number(row[0]), text(row[1]), text(row[2]), text(row[3]), number(row[4]), text(row[5])}, report);
      }
      if (page.size() < static_cast<std::size_t>(kPage)) break;
      Result<Rows> next = session_.run(kEntries, account.id, replay.version(), kPage);
      if (!next.ok()) return next.failure();
      page = std::move(next).value();
    }
    replay.compare(account, report);
    return success();
  }

  Status check_query(const Query& query) {
    const Result<Rows> rows = session_.run(query.statement);
    if (!rows.ok()) return rows.failure();
    for (const Row& row : rows.value()) {
      std::string message(query.what);
      for (std::size_t i = 0; i < row.size(); ++i) message += (i == 0 ? ": " : ", ") + shown(row[i]);
      violated(query.invariant, message);
    }
    return success();
  }

  Session& session_;
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> verify(database::Database& database) {
  VerifyReport report;
  const Outcome outcome = database.run(
      Access::read, [&](Session& session) { return Verification(session).run(report); }, std::chrono::hours(24));
  if (!outcome.ok()) return outcome.status.failure();
  return report;
}

}  // namespace weir::ledger
