#include "server/quota_retention.h"

#include <gtest/gtest.h>

#include "control/audit_trail.h"
#include "database/location.h"
#include "database/migration.h"
#include "ledger/ledger.h"
#include "ledger/operations/take.h"
#include "ledger/retention.h"
#include "server/migrations.h"
#include "tests/support/temporary_folder.h"

namespace weir::server {
namespace {

using std::chrono::hours;

class QuotaRetentionTest : public testing::Test {
 protected:
  QuotaRetentionTest() {
    const Result<database::Location> location = database::parse_location("sqlite:ledger.db", folder_.path());
    database_ = database::make_database(location.value());
    EXPECT_TRUE(database::migrate(*database_, all_migrations(), clock_.wall()).ok());
    ledger_ = std::make_unique<ledger::Ledger>(*database_, clock_);
  }
  // One unit of a day that begins now.
  void use(const std::string& subject) {
    ledger::Terms terms;
    terms.key = {"exports", subject, std::to_string(micros(clock_.wall()))};
    terms.begins = clock_.wall();
    terms.ends = clock_.wall() + hours(24);
    terms.limit = 10;
    terms.since = clock_.wall();
    auto take = std::make_unique<ledger::Take>();
    take->id = "take " + subject;
    take->legs = {{terms, 1}};
    EXPECT_TRUE(ledger_->run(std::move(take)).ok());
  }
  std::int64_t entries() {
    std::int64_t count = 0;
    read([&](database::Session& session) -> Status {
      static const database::Statement kCount{"SELECT COUNT(*) FROM ledger_entry"};
      const Result<database::Rows> rows = session.run(kCount);
      if (!rows.ok()) return rows.failure();
      count = database::number(rows.value()[0][0]);
      return success();
    });
    return count;
  }
  std::vector<control::AuditEntry> audit() {
    std::vector<control::AuditEntry> found;
    read([&](database::Session& session) -> Status {
      Result<std::vector<control::AuditEntry>> entries = control::read_audit(session, {}, INT64_MAX, 10);
      if (!entries.ok()) return entries.failure();
      found = std::move(entries).value();
      return success();
    });
    return found;
  }
  void read(const std::function<Status(database::Session&)>& work) {
    EXPECT_TRUE(database_->run(database::Access::read, work).ok());
  }
  void note_exported(std::int64_t cursor) {
    EXPECT_TRUE(database_
                    ->run(database::Access::write,
                          [&](database::Session& session) {
                            return ledger::note_exported(session, cursor, "ada", clock_.wall());
                          })
                    .ok());
  }

  ManualClock clock_{from_micros(1'800'000'000'000'000)};
  observe::Log log_{{.level = observe::Level::error}, clock_};
  rules::TemporaryFolder folder_;
  std::unique_ptr<database::Database> database_;
  std::unique_ptr<ledger::Ledger> ledger_;
};

TEST_F(QuotaRetentionTest, RemovesWhatIsOldAndWasExported) {
  QuotaRetention retention(*database_, log_, hours(24 * 30), "node-1");
  use("tenant=old");
  EXPECT_EQ(entries(), 2);
  clock_.advance(hours(24 * 32));
  use("tenant=new");
  retention.remove_some(clock_.wall());
  EXPECT_EQ(entries(), 4) << "it was not exported";
  note_exported(2);
  retention.remove_some(clock_.wall());
  EXPECT_EQ(entries(), 4) << "the next pass is an hour later";
  clock_.advance(hours(1));
  retention.remove_some(clock_.wall());
  EXPECT_EQ(entries(), 2);
  ASSERT_EQ(audit().size(), 1u);
  EXPECT_EQ(audit()[0].action, "quota.prune");
  EXPECT_EQ(audit()[0].after, R"({"accounts":1,"entries":2,"exported":2})");
  observe::Facts facts;
  retention.add_facts(facts);
  EXPECT_EQ(facts.more[0].value, 2);
  EXPECT_EQ(facts.more[1].value, 0);
}

TEST_F(QuotaRetentionTest, SaysHowManyAccountsWaitToBeExported) {
  QuotaRetention retention(*database_, log_, hours(24), "node-1");
  for (int i = 0; i < 3; ++i) use("tenant=" + std::to_string(i));
  clock_.advance(hours(24 * 3));
  retention.remove_some(clock_.wall());
  observe::Facts facts;
  retention.add_facts(facts);
  EXPECT_EQ(facts.more[0].value, 0);
  EXPECT_EQ(facts.more[1].value, 3);
  EXPECT_TRUE(audit().empty());
}

TEST_F(QuotaRetentionTest, GoesOnALittleAtATime) {
  QuotaRetention retention(*database_, log_, hours(24), "node-1");
  for (int i = 0; i < 450; ++i) use("tenant=" + std::to_string(i));
  note_exported(900);
  clock_.advance(hours(24 * 3));
  retention.remove_some(clock_.wall());
  EXPECT_EQ(entries(), 500) << "200 accounts of two entries";
  retention.remove_some(clock_.wall());
  retention.remove_some(clock_.wall());
  EXPECT_EQ(entries(), 0);
}

TEST_F(QuotaRetentionTest, RemovesNothingWithoutTheSetting) {
  QuotaRetention retention(*database_, log_, Duration(0), "node-1");
  use("tenant=old");
  note_exported(2);
  clock_.advance(hours(24 * 4000));
  retention.remove_some(clock_.wall());
  EXPECT_EQ(entries(), 2);
}

}  // namespace
}  // namespace weir::server
