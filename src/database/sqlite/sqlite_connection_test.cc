#include "database/sqlite/sqlite_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>

#include "database/location.h"
#include "tests/support/temporary_folder.h"

namespace weir::database {
namespace {

using std::chrono::steady_clock;

class SqliteTest : public testing::Test {
 protected:
  Connection::Deadline soon() { return steady_clock::now() + std::chrono::seconds(10); }
  std::string path(const char* name = "weir.db") { return (folder_.path() / name).string(); }
  std::string pragma(SqliteConnection& connection, const Statement& statement) {
    const Result<Rows> rows = connection.run(statement);
    const Value& value = rows.value()[0][0];
    return std::holds_alternative<std::string>(value) ? text(value) : std::to_string(number(value));
  }

  rules::TemporaryFolder folder_;
};

TEST_F(SqliteTest, KeepsALogAndWaitsForTheDiskAtEveryCommit) {
  SqliteConnection connection(path(), Access::write);
  ASSERT_TRUE(connection.open(soon()).ok());
  static const Statement kJournal{"PRAGMA journal_mode"}, kSynchronous{"PRAGMA synchronous"},
      kKeys{"PRAGMA foreign_keys"};
  EXPECT_EQ(pragma(connection, kJournal), "wal");
  EXPECT_EQ(pragma(connection, kSynchronous), "2") << "FULL";
  EXPECT_EQ(pragma(connection, kKeys), "1");
}

TEST_F(SqliteTest, TheFileIsItsOwnersOnly) {
  SqliteConnection connection(path(), Access::write);
  ASSERT_TRUE(connection.open(soon()).ok());
  EXPECT_TRUE(connection.begin(Access::write).ok());
  EXPECT_TRUE(connection.run_script("CREATE TABLE t (a)").ok());
  Failure failure;
  EXPECT_EQ(connection.commit(failure), Connection::Committed::yes);
  for (const char* name : {"weir.db", "weir.db-wal", "weir.db-shm"}) {
    struct stat about {};
    ASSERT_EQ(::stat(path(name).c_str(), &about), 0) << name;
    EXPECT_EQ(about.st_mode & 0777, 0600U) << name;
  }
}

TEST_F(SqliteTest, SaysWhyItCannotOpenAFile) {
  SqliteConnection missing(path("no/such/folder.db"), Access::write);
  const Status opened = missing.open(soon());
  EXPECT_EQ(opened.failure().code, Code::unavailable);
  EXPECT_THAT(opened.failure().message, testing::EndsWith("folder.db: No such file or directory"));
  EXPECT_FALSE(missing.is_open());

  folder_.write("text.db", std::string(5000, 'x'));
  SqliteConnection other(path("text.db"), Access::write);
  EXPECT_EQ(other.open(soon()).failure().code, Code::data_loss);

  SqliteConnection reader(path("none.db"), Access::read);
  EXPECT_EQ(reader.open(soon()).failure().code, Code::unavailable) << "readers make no file";
}

TEST_F(SqliteTest, WaitsForAnotherProcessThatWritesAndThenReportsAConflict) {
  SqliteConnection first(path(), Access::write), second(path(), Access::write);
  ASSERT_TRUE(first.open(soon()).ok());
  ASSERT_TRUE(second.open(soon()).ok());
  ASSERT_TRUE(first.begin(Access::write).ok());
  second.set_deadline(steady_clock::now() + std::chrono::milliseconds(20));
  EXPECT_EQ(second.begin(Access::write).failure().code, Code::aborted);
  EXPECT_EQ(second.trouble(), Connection::Trouble::conflict);
}

TEST_F(SqliteTest, AStatementThatTakesTooLongIsStopped) {
  SqliteConnection connection(path(), Access::write);
  ASSERT_TRUE(connection.open(soon()).ok());
  connection.set_deadline(steady_clock::now());
  static const Statement kEndless{
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"};
  EXPECT_EQ(connection.run(kEndless).failure().code, Code::deadline_exceeded);
}

TEST_F(SqliteTest, AFullDiskFailsTheTransactionAndNotTheDatabase) {
  SqliteConnection connection(path(), Access::write);
  ASSERT_TRUE(connection.open(soon()).ok());
  ASSERT_TRUE(connection.begin(Access::write).ok());
  ASSERT_TRUE(connection.run_script("CREATE TABLE t (a TEXT)").ok());
  Failure failure;
  ASSERT_EQ(connection.commit(failure), Connection::Committed::yes);
  static const Statement kBound{"PRAGMA max_page_count=10"}, kFree{"PRAGMA max_page_count=1000000"},
      kAdd{"INSERT INTO t VALUES ($1)"}, kCount{"SELECT COUNT(*) FROM t"};
  ASSERT_TRUE(connection.run(kBound).ok());
  ASSERT_TRUE(connection.begin(Access::write).ok());
  EXPECT_EQ(connection.run(kAdd, std::string(100'000, 'x')).failure().code, Code::resource_exhausted);
  EXPECT_EQ(connection.trouble(), Connection::Trouble::refused);
  connection.rollback();
  ASSERT_TRUE(connection.run(kFree).ok());
  EXPECT_EQ(number(connection.run(kCount).value()[0][0]), 0);
}

TEST_F(SqliteTest, CopiesTheDatabaseWhileAnotherConnectionWrites) {
  SqliteConnection writer(path(), Access::write), copier(path(), Access::write);
  ASSERT_TRUE(writer.open(soon()).ok());
  ASSERT_TRUE(writer.run_script("CREATE TABLE t (a); INSERT INTO t VALUES (1)").ok());
  ASSERT_TRUE(writer.begin(Access::write).ok());
  ASSERT_TRUE(writer.run_script("INSERT INTO t VALUES (2)").ok());
  ASSERT_TRUE(copier.open(soon()).ok());
  ASSERT_TRUE(copier.copy_to(path("copy.db")).ok());
  EXPECT_FALSE(copier.copy_to(path("copy.db")).ok()) << "never over an existing file";
  SqliteConnection copy(path("copy.db"), Access::read);
  ASSERT_TRUE(copy.open(soon()).ok());
  static const Statement kAll{"SELECT a FROM t"};
  EXPECT_EQ(copy.run(kAll).value(), (Rows{{std::int64_t{1}}})) << "what was committed then";
}

}  // namespace
}  // namespace weir::database
