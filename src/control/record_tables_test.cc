#include "control/record_tables.h"

#include <gtest/gtest.h>

#include "control/change_log.h"
#include "control/kept.h"
#include "control/key_hash.h"
#include "control/schema/operator_schema.h"
#include "control/schema/schema.h"
#include "database/location.h"
#include "database/migration.h"
#include "tests/support/temporary_folder.h"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

const TimePoint kNow = from_micros(1'800'000'000'123'456);

class RecordTablesTest : public ::testing::Test {
 protected:
  RecordTablesTest() {
    const auto location = database::parse_location("sqlite:weir.db", folder_.path());
    database_ = database::make_database(location.value());
    std::vector<database::Migration> all(admin_migrations().begin(), admin_migrations().end());
    all.insert(all.end(), operator_migrations().begin(), operator_migrations().end());
    EXPECT_TRUE(database::migrate(*database_, all, kNow).ok());
  }
  void write(const std::function<Status(database::Session&)>& work) {
    const database::Outcome outcome = database_->run(database::Access::write, work);
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.status.failure().message);
  }
  template <typename Record>
  std::optional<Record> find(const std::string& key) {
    std::optional<Record> found;
    write([&](database::Session& session) -> Status {
      Result<std::optional<Record>> record = find_record<Record>(session, key);
      if (!record.ok()) return record.failure();
      found = record.value();
      return success();
    });
    return found;
  }
  static OverrideRecord override_named(std::string id) {
    OverrideRecord record;
    record.id = std::move(id);
    record.rules = {"search", "export"};
    record.when = {{"tenant", {"a \"b\"", "ü"}}, {"ip", {"10.0.0.0/8"}}};
    record.change.limit = 7;
    record.change.window = 90s;
    record.mode = Mode::shadow;
    record.emergency = true;
    record.until = kNow + 1h;
    record.reason = "why";
    record.actor = "ada";
    record.created = kNow;
    return record;
  }

  rules::TemporaryFolder folder_;
  std::unique_ptr<database::Database> database_;
};

TEST_F(RecordTablesTest, AnOverrideComesBackAsItWasStored) {
  OverrideRecord record = override_named("ovr_1");
  write([&](database::Session& session) { return add_record(session, record); });
  const std::optional<OverrideRecord> found = find<OverrideRecord>("ovr_1");
  ASSERT_TRUE(found);
  EXPECT_EQ(Table<OverrideRecord>::row_of(record), Table<OverrideRecord>::row_of(*found));
  EXPECT_EQ(record.when, found->when);
  EXPECT_EQ(record.change, found->change);
  record.mode.reset();
  record.change = {};
  record.change.unlimited = true;
  record.revision = 2;
  write([&](database::Session& session) { return change_record(session, record); });
  EXPECT_EQ(Table<OverrideRecord>::row_of(record), Table<OverrideRecord>::row_of(*find<OverrideRecord>("ovr_1")));
  write([&](database::Session& session) { return remove_record<OverrideRecord>(session, "ovr_1"); });
  EXPECT_FALSE(find<OverrideRecord>("ovr_1"));
}

TEST_F(RecordTablesTest, WhatHasExpiredIsTakenOnce) {
  BlockRecord ends{.id = "ends",
                   .when = {{"tenant", {"a"}}},
                   .until = kNow + 1s,
                   .reason = "",
                   .actor = "",
                   .created = kNow,
                   .last_used = {}};
  BlockRecord stays = ends;
  stays.id = "stays";
  stays.until.reset();
  std::vector<std::size_t> taken;
  write([&](database::Session& session) -> Status {
    static_cast<void>(add_record(session, ends));
    static_cast<void>(add_record(session, stays));
    for (const TimePoint now : {kNow + 999ms, kNow + 1s, kNow + 2s}) {
      taken.push_back(take_expired<BlockRecord>(session, now).value().size());
    }
    return success();
  });
  EXPECT_EQ((std::vector<std::size_t>{0, 1, 0}), taken);
  EXPECT_TRUE(find<BlockRecord>("stays"));
}

TEST_F(RecordTablesTest, UsesOfSeveralNodesAddUpAndTheLatestCounts) {
  BlockRecord block{
      .id = "b", .when = {{"tenant", {"a"}}}, .until = {}, .reason = "", .actor = "", .created = kNow, .last_used = {}};
  write([&](database::Session& session) -> Status {
    Status done = add_record(session, block);
    if (done.ok()) done = add_use<BlockRecord>(session, "b", kNow + 5s, 3);
    if (done.ok()) done = add_use<BlockRecord>(session, "b", kNow + 2s, 4);
    return done;
  });
  EXPECT_EQ(7, find<BlockRecord>("b")->hits);
  EXPECT_EQ(kNow + 5s, find<BlockRecord>("b")->last_used);
}

TEST_F(RecordTablesTest, PagesFollowTheKeys) {
  write([&](database::Session& session) -> Status {
    for (const char* name : {"c", "a", "d", "b"}) {
      TenantRecord tenant;
      tenant.tenant = name;
      if (Status added = add_record(session, tenant); !added.ok()) return added;
    }
    const auto first = read_page<TenantRecord>(session, "", 3);
    EXPECT_EQ(3U, first.value().size());
    EXPECT_EQ("c", first.value().back().tenant);
    EXPECT_EQ("d", read_page<TenantRecord>(session, "c", 3).value().front().tenant);
    return success();
  });
}

TEST_F(RecordTablesTest, ANodeKeepsWhatItReadAndTheMarksOfWhatStays) {
  std::vector<std::string> acted;
  Kept<OverrideRecord> kept([&](const auto& records, auto) {
    acted.clear();
    for (const OverrideRecord& record : *records) acted.push_back(record.id);
    return success();
  });
  std::string text;
  const auto read = [&](database::Session& session) -> Status {
    Result<std::string> all = kept.read(session);
    if (!all.ok()) return all.failure();
    text = all.value();
    return success();
  };
  write([&](database::Session& session) -> Status {
    static_cast<void>(add_record(session, override_named("b")));
    static_cast<void>(add_record(session, override_named("a")));
    return read(session);
  });
  ASSERT_TRUE(kept.apply(text).ok());
  EXPECT_EQ((std::vector<std::string>{"a", "b"}), acted);
  const std::shared_ptr<UseMark> mark = kept.mark_of("b");
  mark->use(kNow);
  write([&](database::Session& session) -> Status {
    static_cast<void>(remove_record<OverrideRecord>(session, "a"));
    return read(session);
  });
  ASSERT_TRUE(kept.apply(text).ok());
  EXPECT_EQ(mark, kept.mark_of("b"));
  EXPECT_EQ(nullptr, kept.mark_of("a"));
  EXPECT_FALSE(kept.apply(text.substr(0, text.size() - 2)).ok()) << "a damaged file";
  EXPECT_FALSE(kept.apply("weir-rows 1\ni1;\n").ok()) << "a row of another version";
  EXPECT_EQ(1U, kept.current()->size()) << "what was known stays";
}

TEST_F(RecordTablesTest, KeysAreHashedUnderASecretThatIsMadeOnce) {
  KeySecret secret;
  EXPECT_EQ(nullptr, secret.hasher());
  std::string first;
  std::string second;
  std::string text;
  write([&](database::Session& session) -> Status {
    first = ensure_key_secret(session).value();
    second = ensure_key_secret(session).value();
    text = secret.read(session).value();
    return success();
  });
  EXPECT_EQ(first, second);
  ASSERT_TRUE(secret.apply(text).ok());
  const std::string key = make_api_key();
  EXPECT_NE(key, make_api_key());
  const std::string hash = secret.hasher()->hash(key);
  EXPECT_EQ(64U, hash.size());
  EXPECT_EQ(KeyHasher::short_of(hash), secret.hasher()->short_hash(key));
  EXPECT_NE(hash, KeyHasher("another").hash(key));
  EXPECT_EQ(std::nullopt, KeyHasher::short_of("xyz"));
}

// RFC 4231, test case 2.
TEST(KeyHasher, IsHmacSha256) {
  EXPECT_EQ("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            KeyHasher("Jefe").hash("what do ya want for nothing?"));
}

}  // namespace
}  // namespace weir::control
