#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "database/migration.h"
#include "tests/database/backend.h"

namespace weir::database::tests {
namespace {

constexpr std::string_view kFirst = "CREATE TABLE first_table (id BIGINT PRIMARY KEY); CREATE TABLE other (id BIGINT);";
constexpr std::string_view kSecond = "ALTER TABLE first_table ADD COLUMN words TEXT; INSERT INTO other VALUES (1);";

const std::vector<Migration> kOne = {{"ledger", 1, "accounts", kFirst, kFirst}};
const std::vector<Migration> kTwo = {{"ledger", 1, "accounts", kFirst, kFirst},
                                     {"ledger", 2, "words", kSecond, kSecond}};
const TimePoint kNow = from_micros(1'800'000'000'000'000);
const Statement kOthers{"SELECT COUNT(*) FROM other"};

class Migrations : public ::testing::TestWithParam<Dialect> {
 protected:
  Result<std::vector<Migration>> migrate_to(const std::vector<Migration>& known) {
    return migrate(*database_, known, kNow);
  }
  Result<MigrationPlan> plan(const std::vector<Migration>& known) { return plan_migrations(*database_, known); }
  std::int64_t others() {
    std::int64_t count = 0;
    EXPECT_TRUE(succeeded(database_->run(Access::read, [&](Session& session) -> Status {
      const Result<Rows> rows = session.run(kOthers);
      if (!rows.ok()) return rows.failure();
      count = number(rows.value()[0][0]);
      return success();
    })));
    return count;
  }

  Backend backend_{GetParam()};
  std::unique_ptr<Database> database_ = backend_.open();
};
INSTANTIATE_TEST_SUITE_P(Both, Migrations, kBothDatabases, dialect_name);

TEST_P(Migrations, RunOnceAndInOrder) {
  ASSERT_TRUE(succeeded(migrate_to(kOne)));
  const auto second = migrate_to(kTwo);
  ASSERT_TRUE(succeeded(second));
  ASSERT_EQ(second.value().size(), 1U);
  EXPECT_EQ(second.value()[0].version, 2);
  EXPECT_EQ(migrate_to(kTwo).value().size(), 0U);
  EXPECT_EQ(others(), 1);
  const auto planned = plan(kTwo);
  ASSERT_TRUE(succeeded(planned));
  EXPECT_EQ(planned.value().pending.size(), 0U);
  ASSERT_EQ(planned.value().applied.size(), 2U);
  EXPECT_EQ(planned.value().applied[1].name, "words");
  EXPECT_EQ(planned.value().applied[1].at, kNow);
}

TEST_P(Migrations, APlanChangesNothing) {
  ASSERT_TRUE(succeeded(migrate_to({})));  // makes SQLite's file
  for (int i = 0; i < 2; ++i) {
    const auto planned = plan(kTwo);
    ASSERT_TRUE(succeeded(planned));
    EXPECT_EQ(planned.value().pending.size(), 2U);
    EXPECT_EQ(planned.value().applied.size(), 0U);
  }
}

TEST_P(Migrations, RefuseADatabaseOfANewerProgram) {
  ASSERT_TRUE(succeeded(migrate_to(kTwo)));
  const auto refused = migrate_to(kOne);
  EXPECT_EQ(refused.failure().code, Code::failed_precondition);
  EXPECT_EQ(refused.failure().message,
            "the database has migration ledger 2 (words), which this program does not know; use the newer program");
}

TEST_P(Migrations, RefuseAStepThatWasEditedAfterItRan) {
  ASSERT_TRUE(succeeded(migrate_to(kOne)));
  const std::vector<Migration> edited = {{"ledger", 1, "accounts", kSecond, kSecond}};
  EXPECT_THAT(migrate_to(edited).failure().message, ::testing::HasSubstr("ran with other SQL"));
}

TEST_P(Migrations, AStepThatFailsLeavesTheDatabaseAsItWas) {
  const std::vector<Migration> broken = {{"ledger", 1, "accounts", kFirst, kFirst},
                                         {"ledger", 2, "broken", "CREATE TABLE x (id BIGINT); SELECT * FROM nowhere;",
                                          "CREATE TABLE x (id BIGINT); SELECT * FROM nowhere;"}};
  const auto failed = migrate_to(broken);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.failure().message, ::testing::StartsWith("migration ledger 2 (broken): "));
  EXPECT_EQ(plan(kTwo).value().applied.size(), 0U);
  EXPECT_TRUE(succeeded(migrate_to(kTwo)));
}

TEST_P(Migrations, NodesThatStartTogetherMigrateOnce) {
  std::vector<std::thread> nodes;
  std::atomic<std::size_t> ran{0};
  for (int i = 0; i < 4; ++i) {
    nodes.emplace_back([&] {
      const auto own = backend_.open();
      const auto done = migrate(*own, kTwo, kNow);
      EXPECT_TRUE(succeeded(done));
      if (done.ok()) ran += done.value().size();
    });
  }
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(ran, 2U);
  EXPECT_EQ(others(), 1);
}

TEST(MigrationScript, NamesEachStepAndItsChecksum) {
  EXPECT_EQ(migration_script(kOne, Dialect::postgres),
            "-- ledger 1 (accounts), checksum " + checksum(kFirst) + "\n" + std::string(kFirst) + "\n");
  EXPECT_EQ(checksum("").size(), 16U);
  EXPECT_NE(checksum("a"), checksum("b"));
}

}  // namespace
}  // namespace weir::database::tests
