#include "server/audit_queue.h"

#include <gtest/gtest.h>

#include <limits>

#include "database/location.h"
#include "database/migration.h"
#include "server/migrations.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

namespace weir::server {
namespace {

class AuditQueueTest : public testing::Test {
 protected:
  AuditQueueTest() {
    const Result<database::Location> location = database::parse_location("sqlite:audit.db", folder_.path());
    database_ = database::make_database(location.value());
    queue_.use(*database_, [this] { return ready_; });
  }
  ~AuditQueueTest() override { database_->stop(); }
  void migrate() {
    ASSERT_TRUE(database::migrate(*database_, all_migrations(), from_micros(1)).ok());
    ready_ = true;
  }
  void add(const std::string& after, std::int64_t at = 7) {
    ASSERT_TRUE(queue_.reserve());
    control::AuditEntry entry;
    entry.at = from_micros(at);
    entry.actor = "http:anonymous";
    entry.action = "subject.reset";
    entry.object = "subject";
    entry.after = after;
    entry.node = "node-1";
    queue_.add(std::move(entry));
  }
  std::vector<std::string> stored() {
    std::vector<std::string> found;
    const database::Outcome read = database_->run(database::Access::read, [&](database::Session& session) -> Status {
      const auto entries = control::read_audit(session, {}, std::numeric_limits<std::int64_t>::max(), 100'000);
      if (!entries.ok()) return entries.failure();
      found.clear();
      for (const control::AuditEntry& each : entries.value()) found.push_back(each.after);
      return success();
    });
    EXPECT_TRUE(read.ok());
    return found;
  }

  bool ready_ = false;
  rules::TemporaryFolder folder_;
  ProcessClock clock_;
  LogFile log_{clock_};
  AuditQueue queue_{log_.log()};
  std::unique_ptr<database::Database> database_;
};

TEST_F(AuditQueueTest, HasNoRoomBeyondItsBoundUntilEntriesAreWritten) {
  for (std::size_t i = 0; i < AuditQueue::kMaxEntries; ++i) {
    add("{\"n\":" + std::to_string(i) + "}", static_cast<std::int64_t>(i));
  }
  EXPECT_FALSE(queue_.reserve());
  EXPECT_EQ(queue_.counts().refused, 1u);
  EXPECT_NE(log_.text().find("audit_full"), std::string::npos);
  migrate();
  queue_.finish();
  EXPECT_EQ(stored().size(), AuditQueue::kMaxEntries);
  EXPECT_EQ(queue_.counts().written, AuditQueue::kMaxEntries);
  EXPECT_TRUE(queue_.reserve());
}

TEST_F(AuditQueueTest, APlaceCountsFromItsReservation) {
  for (std::size_t i = 0; i < AuditQueue::kMaxEntries; ++i) ASSERT_TRUE(queue_.reserve());
  EXPECT_FALSE(queue_.reserve());
}

TEST_F(AuditQueueTest, AnEntryWhoseCommitWasInDoubtIsNotWrittenAgain) {
  migrate();
  add("{\"operation\":\"a\"}");
  queue_.finish();
  add("{\"operation\":\"a\"}");
  add("{\"operation\":\"b\"}");
  queue_.finish();
  EXPECT_EQ(stored(), (std::vector<std::string>{"{\"operation\":\"b\"}", "{\"operation\":\"a\"}"}));
}

TEST_F(AuditQueueTest, WhatIsLeftWithoutADatabaseIsCountedAndLogged) {
  add("{}");
  queue_.finish();
  EXPECT_EQ(queue_.counts().lost, 1u);
  EXPECT_NE(log_.text().find("audit_lost"), std::string::npos);
}

}  // namespace
}  // namespace weir::server
