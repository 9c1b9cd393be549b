// PostgreSQL that is killed, frozen, restarted, behind TLS, or in the way of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <set>
#include <thread>

#include "tests/database/backend.h"
#include "tests/support/test_certificate.h"

namespace weir::database::tests {
namespace {

const Statement kAdd{"INSERT INTO note (id) VALUES ($1)"};
const Statement kAll{"SELECT id FROM note ORDER BY id"};
const Statement kLock{"SELECT id FROM note WHERE id = $1 FOR UPDATE"};
const Statement kBackend{"SELECT pg_backend_pid()"};

Status ignore_rows(const Result<Rows>& rows) {
  if (!rows.ok()) return rows.failure();
  return success();
}

class PostgresFaults : public ::testing::Test {
 protected:
  explicit PostgresFaults(std::vector<std::string> settings = {}) : server_(std::move(settings)) {
    database_ = open();
    EXPECT_TRUE(succeeded(database_->run(Access::write, [](Session& session) {
      return session.run_script("CREATE TABLE note (id BIGINT PRIMARY KEY)");
    })));
  }
  std::unique_ptr<Database> open(int writers = 1, const std::string& parameters = "") {
    const Location location = parse_location(url_ + parameters, "/").value();
    Limits limits;
    limits.worker.first_pause = limits.worker.longest_pause = std::chrono::milliseconds(10);
    return make_database(location, {.writers = writers, .readers = 1}, limits);
  }
  Outcome add(std::int64_t id) {
    return database_->run(Access::write, [id](Session& session) { return ignore_rows(session.run(kAdd, id)); });
  }
  std::set<std::int64_t> all() {
    std::set<std::int64_t> ids;
    EXPECT_TRUE(succeeded(database_->run(Access::read, [&](Session& session) -> Status {
      const Result<Rows> rows = session.run(kAll);
      if (!rows.ok()) return rows.failure();
      ids.clear();
      for (const Row& row : rows.value()) ids.insert(number(row[0]));
      return success();
    })));
    return ids;
  }

  PostgresServer server_;
  const std::string url_ = server_.fresh_database();
  std::unique_ptr<Database> database_;
};

TEST_F(PostgresFaults, WhatWasAcknowledgedSurvivesKillsUnderLoad) {
  std::set<std::int64_t> acknowledged, uncertain, refused;
  std::promise<void> warm;
  std::atomic<bool> enough{false};
  std::thread load([&] {
    for (std::int64_t id = 1; !enough; ++id) {
      const Outcome outcome = add(id);
      (outcome.ok() ? acknowledged : outcome.unknown ? uncertain : refused).insert(id);
      if (id == 50) warm.set_value();
    }
  });
  warm.get_future().wait();
  for (int i = 0; i < 3; ++i) {
    server_.kill();
    server_.start();
    std::this_thread::yield();
  }
  processes::eventually("it works again", [&] { return database_->health().connected; });
  enough = true;
  load.join();
  const std::set<std::int64_t> kept = all();
  for (const std::int64_t id : acknowledged) EXPECT_TRUE(kept.contains(id)) << id;
  for (const std::int64_t id : refused) EXPECT_FALSE(kept.contains(id)) << id;
  EXPECT_GE(acknowledged.size(), 50U);
  EXPECT_GE(database_->health().opened, 2U);
}

TEST_F(PostgresFaults, AnIdleConnectionThatBrokeIsReplacedWithoutAFailure) {
  ASSERT_TRUE(succeeded(add(1)));
  server_.ask("test1", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'weir'");
  EXPECT_TRUE(succeeded(add(2)));
  EXPECT_EQ(all().size(), 2U);
}

TEST_F(PostgresFaults, AServerThatDoesNotAnswerFailsTheWorkAtItsDeadline) {
  ASSERT_TRUE(succeeded(add(1)));
  server_.freeze();
  std::promise<Outcome> ended;
  ASSERT_TRUE(succeeded(
      database_->submit({.work = [](Session& session) { return ignore_rows(session.run(kAdd, std::int64_t{2})); },
                         .done = [&](const Outcome& outcome) { ended.set_value(outcome); },
                         .deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200)})));
  const Outcome outcome = ended.get_future().get();
  EXPECT_EQ(outcome.status.failure().code, Code::deadline_exceeded);
  EXPECT_FALSE(outcome.unknown) << "no commit was sent";
  server_.thaw();
  processes::eventually("it works again", [&] { return add(3).ok(); });
  EXPECT_EQ(all(), (std::set<std::int64_t>{1, 3}));
}

// The backend that holds the commit back is killed, so its answer never comes.
TEST_F(PostgresFaults, ACommitWhoseAnswerIsLostIsReportedAsUnknown) {
  server_.ask(
      "test1",
      "CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN "
      "NULL; END'; CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON note DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
      "EXECUTE FUNCTION wait_at_commit()");
  std::thread killer([&] {
    processes::eventually("the commit waits", [&] {
      return server_.ask("test1",
                         "SELECT COUNT(*) FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'PgSleep'") ==
             "1";
    });
    server_.kill();
  });
  const Outcome outcome = add(1);
  killer.join();
  EXPECT_TRUE(outcome.unknown);
  EXPECT_EQ(outcome.status.failure().code, Code::unavailable);
  server_.start();
  EXPECT_EQ(all().size(), 0U);
}

TEST_F(PostgresFaults, TransactionsThatBlockEachOtherAreRepeated) {
  ASSERT_TRUE(succeeded(add(1)));
  ASSERT_TRUE(succeeded(add(2)));
  server_.ask("postgres", "ALTER SYSTEM SET deadlock_timeout = '20ms'");
  server_.ask("postgres", "SELECT pg_reload_conf()");
  const auto both = open(2);
  std::atomic<int> holding{0};
  const auto lock_in_order = [&](std::int64_t first, std::int64_t second) {
    return both->run(Access::write, [&, first, second](Session& session) -> Status {
      if (const Result<Rows> locked = session.run(kLock, first); !locked.ok()) return locked.failure();
      // The first time, both hold one before either asks for the other.
      for (++holding; holding < 2;) std::this_thread::yield();
      return ignore_rows(session.run(kLock, second));
    });
  };
  std::thread other([&] { EXPECT_TRUE(succeeded(lock_in_order(2, 1))); });
  EXPECT_TRUE(succeeded(lock_in_order(1, 2)));
  other.join();
  EXPECT_GE(both->health().repeated, 1U);
}

TEST_F(PostgresFaults, FindsThePrimaryAmongSeveralHosts) {
  const std::string host = url_.substr(0, url_.rfind('/')).substr(std::string("postgres://weir@").size());
  const Location location =
      parse_location("postgres://weir@%2Fnowhere," + host + "/test1?connect_timeout=2", "/").value();
  const auto database = make_database(location);
  EXPECT_TRUE(
      succeeded(database->run(Access::write, [](Session& session) { return ignore_rows(session.run(kBackend)); })));
}

TEST_F(PostgresFaults, ADatabaseThatIsReadOnlyIsNotUsed) {
  server_.ask("postgres", "ALTER DATABASE test1 SET default_transaction_read_only = on");
  const auto database = open();
  const Outcome outcome =
      database->run(Access::write, [](Session& session) { return ignore_rows(session.run(kBackend)); });
  EXPECT_EQ(outcome.status.failure().code, Code::unavailable);
  EXPECT_THAT(outcome.status.failure().message, ::testing::HasSubstr("read-only"));
}

TEST_F(PostgresFaults, EveryCommitIsOnDiskWhateverTheDatabaseIsSetTo) {
  static const Statement kSetting{"SELECT current_setting('synchronous_commit')"};
  server_.ask("postgres", "ALTER DATABASE test1 SET synchronous_commit = off");
  const auto database = open();
  EXPECT_TRUE(succeeded(database->run(Access::write, [](Session& session) -> Status {
    const Result<Rows> rows = session.run(kSetting);
    if (!rows.ok()) return rows.failure();
    EXPECT_EQ(text(rows.value()[0][0]), "on");
    return success();
  })));
}

TEST(PostgresTls, TheServersCertificateIsVerifiedIfTheUrlAsksForIt) {
  const rules::TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::others_exec, std::filesystem::perm_options::add);
  const transport::TestCertificate server(folder.path(), "localhost"), other(folder.path(), "other");
  const passwd* nobody = getpwnam("nobody");
  for (const auto& file : {server.key, server.certificate}) {
    ASSERT_EQ(chmod(file.c_str(), 0600), 0);
    ASSERT_TRUE(getuid() != 0 || chown(file.c_str(), nobody->pw_uid, nobody->pw_gid) == 0);
  }
  const int port = processes::free_port();
  PostgresServer postgres(
      {"ssl=on", "ssl_cert_file=" + server.certificate.string(), "ssl_key_file=" + server.key.string()}, port);
  static const Statement kSecure{"SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"};
  const auto connect = [&](const std::filesystem::path& root) {
    const std::string url = "postgres://weir@localhost:" + std::to_string(port) +
                            "/postgres?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=" + root.string();
    return make_database(parse_location(url, "/").value())->run(Access::read, [](Session& session) -> Status {
      const Result<Rows> rows = session.run(kSecure);
      if (!rows.ok()) return rows.failure();
      EXPECT_EQ(text(rows.value()[0][0]), "TLSv1.3");
      return success();
    });
  };
  EXPECT_TRUE(succeeded(connect(server.certificate)));
  EXPECT_THAT(connect(other.certificate).status.failure().message, ::testing::HasSubstr("certificate verify failed"));
}

TEST(PostgresAddress, SaysWhyItCannotConnect) {
  const auto database = make_database(parse_location("postgres://weir:s3cret@127.0.0.1:1/weir", "/").value());
  const Outcome outcome = database->run(Access::write, [](Session&) { return success(); });
  EXPECT_EQ(outcome.status.failure().code, Code::unavailable);
  EXPECT_THAT(outcome.status.failure().message, ::testing::HasSubstr("127.0.0.1"));
  EXPECT_THAT(outcome.status.failure().message, ::testing::Not(::testing::HasSubstr("s3cret")));
}

}  // namespace
}  // namespace weir::database::tests
