// LedgerFixture: a ledger on a fresh database of either kind, with a manual clock. After every test the invariants are
// verified.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>

#include "ledger/ledger.h"
#include "ledger/operations/grants.h"
#include "ledger/operations/reservations.h"
#include "ledger/operations/slices.h"
#include "ledger/operations/take.h"
#include "ledger/reading.h"
#include "ledger/schema/schema.h"
#include "ledger/verify.h"
#include "tests/database/backend.h"

namespace weir::ledger::tests {

using database::tests::dialect_name;
using database::tests::kBothDatabases;
using database::tests::succeeded;
using namespace std::chrono_literals;

// 1 March 2026, and the month's end.
inline const TimePoint kStart = from_micros(1'772'323'200'000'000);
inline const TimePoint kEnd = kStart + std::chrono::hours(24 * 31);

// The terms of a monthly rule.
inline Terms monthly(std::int64_t limit, const std::string& subject = "tenant=acme",
                     const std::string& rule = "exports-month") {
  return {.key = {rule, subject, "2026-03"},
          .tenant = "acme",
          .begins = kStart,
          .ends = kEnd,
          .limit = limit,
          .since = kStart,
          .grace = 0,
          .record_overage = false,
          .thresholds = {}};
}
inline Terms next_month(Terms terms) {
  terms.key.period = "2026-04";
  terms.begins = kEnd;
  terms.ends = kEnd + std::chrono::hours(24 * 30);
  return terms;
}

class LedgerFixture : public ::testing::TestWithParam<database::Dialect> {
 protected:
  LedgerFixture() {
    EXPECT_TRUE(succeeded(database::migrate(*database_, ledger_migrations(), kStart)));
    ledger_ = std::make_unique<Ledger>(*database_, clock_, LedgerOptions{.database_time = false, .committer = {}});
  }
  ~LedgerFixture() override {
    const Result<VerifyReport> report = verify(*database_);
    EXPECT_TRUE(succeeded(report));
    if (!report.ok()) return;
    EXPECT_THAT(report.value().examples, ::testing::IsEmpty());
  }

  // Gives the operation an id if it has none, and runs it.
  template <typename Kind>
  Answer run(Kind operation) {
    return run_on(*ledger_, std::move(operation));
  }
  template <typename Kind>
  Answer run_on(Ledger& ledger, Kind operation) {
    if (operation.id.empty()) operation.id = "op" + std::to_string(++operations_);
    const Result<Answer> answer = ledger.run(std::make_unique<Kind>(std::move(operation)));
    EXPECT_TRUE(succeeded(answer));
    return answer.ok() ? answer.value() : Answer();
  }
  // What check() says of an operation that nothing could execute.
  template <typename Kind>
  Failure refused(Kind operation) {
    if (operation.id.empty()) operation.id = "refused";
    const Result<Answer> answer = ledger_->run(std::make_unique<Kind>(std::move(operation)));
    EXPECT_FALSE(answer.ok());
    return answer.ok() ? Failure{} : answer.failure();
  }

  Answer take(const Terms& terms, std::int64_t amount) {
    Take operation;
    operation.legs = {{terms, amount}};
    return run(std::move(operation));
  }
  Account account(const AccountKey& key) {
    std::optional<Account> found;
    EXPECT_TRUE(succeeded(database_->run(database::Access::read, [&](database::Session& session) -> Status {
      auto read = read_account(session, key);
      if (!read.ok()) return read.failure();
      found = std::move(read).value();
      return success();
    })));
    EXPECT_TRUE(found) << key.rule << " " << key.subject << " " << key.period;
    return found.value_or(Account());
  }
  Account account(const Terms& terms) { return account(terms.key); }
  std::int64_t entries() { return verify(*database_).value().entries; }

  ManualClock clock_{kStart + std::chrono::hours(1)};
  database::tests::Backend backend_{GetParam()};
  std::unique_ptr<database::Database> database_ = backend_.open({.writers = 2, .readers = 1});
  std::unique_ptr<Ledger> ledger_;
  std::atomic<int> operations_{0};
};

// Its balance, in the order available, held, used, expired.
inline std::string balance(const Account& account) {
  return std::to_string(account.available) + " " + std::to_string(account.held) + " " + std::to_string(account.used) +
         " " + std::to_string(account.expired);
}

}  // namespace weir::ledger::tests
