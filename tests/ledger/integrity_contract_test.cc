// The database itself refuses to change entries; verify() finds what is wrong; an export is complete.
#include <set>
#include <thread>

#include "ledger/export.h"
#include "tests/ledger/ledger_fixture.h"

namespace weir::ledger::tests {
namespace {

using database::Access;
using database::Session;
using ::testing::Contains;
using ::testing::HasSubstr;

class Integrity : public LedgerFixture {
 protected:
  database::Outcome script(const std::string& sql) {
    return database_->run(Access::write, [&](Session& session) { return session.run_script(sql); });
  }
  // What verify() says after a change behind its back, which is then undone.
  std::vector<std::string> found_after(const std::string& change, const std::string& back) {
    const std::string unlocked =
        GetParam() == database::Dialect::sqlite
            ? "DROP TRIGGER ledger_entry_is_not_updated; DROP TRIGGER ledger_entry_is_not_deleted;"
            : "ALTER TABLE ledger_entry DISABLE TRIGGER ALL;";
    EXPECT_TRUE(unlocked_ || script(unlocked).ok());
    unlocked_ = true;
    EXPECT_TRUE(succeeded(script(change))) << change;
    std::vector<std::string> found = verify(*database_).value().examples;
    EXPECT_TRUE(succeeded(script(back))) << back;
    return found;
  }
  bool unlocked_ = false;
};
INSTANTIATE_TEST_SUITE_P(Both, Integrity, kBothDatabases, dialect_name);

TEST_P(Integrity, EntriesCannotBeChangedOrDeleted) {
  take(monthly(10), 4);
  std::vector<std::string> attempts = {"UPDATE ledger_entry SET amount = 1", "DELETE FROM ledger_entry"};
  if (GetParam() == database::Dialect::postgres) attempts.push_back("TRUNCATE ledger_entry");
  if (GetParam() == database::Dialect::sqlite) {
    attempts.push_back("INSERT OR REPLACE INTO ledger_entry SELECT * FROM ledger_entry");
  }
  for (const std::string& attempt : attempts) {
    const database::Outcome outcome = script(attempt);
    EXPECT_EQ(outcome.status.failure().code, Code::failed_precondition) << attempt;
    EXPECT_THAT(outcome.status.failure().message, HasSubstr("cannot be changed or deleted"));
  }
}

// The triggers hold also for the superuser that these tests are; the privileges hold for others.
TEST_P(Integrity, AnOrdinaryOwnerIsNotEvenPermittedTo) {
  if (GetParam() != database::Dialect::postgres) GTEST_SKIP() << "SQLite has no users";
  const std::string name = backend_.location().address.substr(backend_.location().address.rfind('/') + 1);
  auto& server = database::tests::PostgresServer::shared();
  server.ask("postgres", "CREATE ROLE owner_of_" + name + " LOGIN");
  server.ask("postgres", "CREATE DATABASE owned_" + name + " OWNER owner_of_" + name);
  std::string url = server.url("owned_" + name);
  url.replace(url.find("weir@"), 4, "owner_of_" + name);
  const auto owned = database::make_database(database::parse_location(url, "/").value());
  ASSERT_TRUE(succeeded(database::migrate(*owned, ledger_migrations(), kStart)));
  {
    Ledger ledger(*owned, clock_, {.database_time = false, .committer = {}});
    Take operation;
    operation.legs = {{monthly(10), 4}};
    EXPECT_EQ(run_on(ledger, operation).verdict, Verdict::done);
  }
  const auto outcome = owned->run(
      Access::write, [](Session& session) { return session.run_script("UPDATE ledger_entry SET amount = 1"); });
  EXPECT_EQ(outcome.status.failure().code, Code::permission_denied);
  EXPECT_TRUE(verify(*owned).value().ok());
}

TEST_P(Integrity, VerifyFindsEachKindOfDamage) {
  const Terms terms = monthly(10), other = monthly(10, "tenant=other");
  Take both;
  both.id = "both";
  both.legs = {{terms, 2}, {other, 2}};
  run(both);
  Reserve reserve;
  reserve.reservation = "r1";
  reserve.legs = {terms};
  reserve.amount = 3;
  run(reserve);
  EXPECT_TRUE(verify(*database_).value().ok());

  EXPECT_THAT(found_after("UPDATE ledger_account SET used = used + 1, available = available - 1 WHERE id = 1",
                          "UPDATE ledger_account SET used = used - 1, available = available + 1 WHERE id = 1"),
              Contains(HasSubstr("I1: account 1 (exports-month, tenant=acme, 2026-03): used is 3 instead of 2")));
  EXPECT_THAT(found_after("UPDATE ledger_reservation_leg SET held = 2", "UPDATE ledger_reservation_leg SET held = 3"),
              Contains(HasSubstr("I2: account, held, by reservations, by slices: 1, 3, 2, 0")));
  EXPECT_THAT(found_after("UPDATE ledger_entry SET amount = 20 WHERE account = 1 AND kind = 'take'",
                          "UPDATE ledger_entry SET amount = 2 WHERE account = 1 AND kind = 'take'"),
              Contains(HasSubstr("I3")));
  EXPECT_THAT(
      found_after("UPDATE ledger_reservation SET state = 'released'", "UPDATE ledger_reservation SET state = 'open'"),
      Contains(HasSubstr("I4")));
  EXPECT_THAT(found_after("UPDATE ledger_entry SET version = 9 WHERE account = 1 AND version = 3",
                          "UPDATE ledger_entry SET version = 3 WHERE account = 1 AND version = 9"),
              Contains(HasSubstr("I5")));
  EXPECT_THAT(found_after("INSERT INTO ledger_answer VALUES ('k', 'h', 'both', '1 denied 0 0 0 0 0 0 0 0 ', 1)",
                          "DELETE FROM ledger_answer"),
              Contains(HasSubstr("I6")));
  EXPECT_THAT(found_after("INSERT INTO ledger_answer VALUES ('k', 'h', 'none', '1 done 5 0 0 0 0 0 0 0 ', 1)",
                          "DELETE FROM ledger_answer"),
              Contains(HasSubstr("I6")));
  EXPECT_THAT(found_after("UPDATE ledger_entry SET reach = 3 WHERE operation = 'both'",
                          "UPDATE ledger_entry SET reach = 2 WHERE operation = 'both'"),
              Contains(HasSubstr("I7: operation that has not reached all its accounts: both")));
  EXPECT_THAT(found_after("UPDATE ledger_entry SET about = '9' WHERE account = 1 AND kind = 'allowance'",
                          "UPDATE ledger_entry SET about = '10' WHERE account = 1 AND kind = 'allowance'"),
              Contains(HasSubstr("I8: account 1 (exports-month, tenant=acme, 2026-03): entry 1 makes the allowance 10 "
                                 "instead of 9")));
  EXPECT_THAT(found_after("UPDATE ledger_entry SET account = 99 WHERE account = 2",
                          "UPDATE ledger_entry SET account = 2 WHERE account = 99"),
              Contains(HasSubstr("I9")));
}

TEST_P(Integrity, AnExportNamesEachEntryOnceInPagesOfAnySize) {
  for (int i = 0; i < 7; ++i) take(monthly(100, "tenant=" + std::to_string(i % 3)), 1);
  for (const std::size_t most : {1, 2, 3, 100}) {
    std::vector<std::int64_t> seen;
    ExportFilter filter{.after = 0, .most = most, .tenant = {}, .rule = {}, .period = {}};
    while (true) {
      const auto page = export_entries(*database_, filter);
      ASSERT_TRUE(succeeded(page));
      for (const ExportedEntry& each : page.value().entries) seen.push_back(each.seq);
      filter.after = page.value().cursor;
      if (!page.value().more) break;
    }
    EXPECT_EQ(seen.size(), 10U);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(export_entries(*database_, filter).value().entries.size(), 0U) << "the cursor stays at the end";
  }
  EXPECT_EQ(export_entries(*database_, {.after = 0, .most = 100, .tenant = "nobody", .rule = {}, .period = {}})
                .value()
                .entries.size(),
            0U);
}

TEST_P(Integrity, AnExportIsCompleteWhileEntriesArrive) {
  constexpr int kThreads = 4, kTakes = 40;
  const auto second_database = backend_.open({.writers = 2, .readers = 1});
  Ledger second(*second_database, clock_, {.database_time = false, .committer = {}});
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kTakes; ++n) {
        Take operation;
        operation.legs = {{monthly(1'000'000, "tenant=" + std::to_string(n % 7)), 1}};
        EXPECT_EQ(run_on(i % 2 == 0 ? *ledger_ : second, operation).verdict, Verdict::done);
      }
      --running;
    });
  }
  std::multiset<std::int64_t> seen;
  std::int64_t after = 0;
  for (bool last = false; !last;) {
    last = running == 0;  // one more page after the last entry
    while (true) {
      const auto page = export_entries(*database_, {.after = after, .most = 5, .tenant = {}, .rule = {}, .period = {}});
      EXPECT_TRUE(succeeded(page));
      if (!page.ok()) break;
      for (const ExportedEntry& each : page.value().entries) {
        EXPECT_GT(each.seq, after);
        after = each.seq;
        seen.insert(each.seq);
      }
      after = page.value().cursor;
      if (!page.value().more) break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(entries()));
  EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), seen.size());
}

TEST(ExportText, WritesLinesForMachinesAndSpreadsheets) {
  ExportedEntry exported{7,
                         {.account = 1,
                          .version = 2,
                          .operation = "op,1",
                          .reach = 1,
                          .kind = EntryKind::take,
                          .amount = 5,
                          .about = "",
                          .actor = "=1+1",
                          .reason = "said \"so\"",
                          .effective = kStart,
                          .recorded = kStart + 1us},
                         {"exports-month", "tenant=acme", "2026-03"},
                         "acme",
                         kStart,
                         kEnd};
  std::string ndjson, csv;
  append_ndjson(ndjson, exported);
  append_csv(csv, exported);
  EXPECT_EQ(
      ndjson,
      "{\"seq\":7,\"recorded_at\":\"2026-03-01T00:00:00.000001Z\",\"effective_at\":\"2026-03-01T00:00:00.000000Z\","
      "\"tenant\":\"acme\",\"rule\":\"exports-month\",\"subject\":\"tenant=acme\",\"period\":\"2026-03\","
      "\"period_begins\":\"2026-03-01T00:00:00.000000Z\",\"period_ends\":\"2026-04-01T00:00:00.000000Z\","
      "\"version\":2,\"operation\":\"op,1\",\"kind\":\"take\",\"from\":\"available\",\"to\":\"used\",\"amount\":5,"
      "\"about\":\"\",\"actor\":\"=1+1\",\"reason\":\"said \\\"so\\\"\"}\n");
  EXPECT_EQ(csv,
            "7,2026-03-01T00:00:00.000001Z,2026-03-01T00:00:00.000000Z,acme,exports-month,tenant=acme,2026-03,"
            "2026-03-01T00:00:00.000000Z,2026-04-01T00:00:00.000000Z,2,\"op,1\",take,available,used,5,,'=1+1,"
            "\"said \"\"so\"\"\"\n");
  EXPECT_EQ(csv_header(),
            "seq,recorded_at,effective_at,tenant,rule,subject,period,period_begins,period_ends,version,operation,kind,"
            "from,to,amount,about,actor,reason\n");
}

}  // namespace
}  // namespace weir::ledger::tests
