// Changes of single records, and what has expired, on SQLite and PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <memory>

#include "control/audit_trail.h"
#include "control/change_log.h"
#include "control/change_watch.h"
#include "control/expiries.h"
#include "control/kept.h"
#include "control/nodes.h"
#include "control/schema/operator_schema.h"
#include "control/schema/schema.h"
#include "control/tokens.h"
#include "tests/database/backend.h"

namespace weir::control {
namespace {

using database::Access;
using database::Session;
using database::tests::Backend;
using database::tests::succeeded;
using testing::ElementsAre;
using testing::IsEmpty;

const TimePoint kStart = from_micros(1'800'000'000'000'000);

// Counts how it is read.
class WatchedBlocks final : public Topic {
 public:
  Result<std::string> read(Session& session) override {
    ++whole;
    return kept.read(session);
  }
  Status apply(std::string_view text) override { return kept.apply(text); }
  bool takes_changes() const override { return true; }
  Result<std::string> read_some(Session& session, const std::vector<std::string>& keys) override {
    some.push_back(keys);
    return kept.read_some(session, keys);
  }
  Status change(const std::vector<std::string>& keys, std::string_view text) override {
    return kept.change(keys, text);
  }
  std::optional<std::string> whole_text() const override { return kept.whole_text(); }

  std::vector<std::string> ids() const {
    std::vector<std::string> all;
    for (const BlockRecord& record : *kept.current()) all.push_back(record.id + ":" + record.reason);
    return all;
  }

  Kept<BlockRecord> kept{[](const auto&, auto) { return success(); }};
  int whole = 0;
  std::vector<std::vector<std::string>> some;
};

class ChangedRecords : public testing::TestWithParam<database::Dialect> {
 protected:
  void SetUp() override {
    std::vector<database::Migration> all(admin_migrations().begin(), admin_migrations().end());
    all.insert(all.end(), operator_migrations().begin(), operator_migrations().end());
    ASSERT_TRUE(succeeded(database::migrate(*database_, all, kStart)));
    watch_.add(std::string(Table<BlockRecord>::kTopic), blocks_);
    put("a", "one");
    put("c", "one");
    watch_.start(true);
  }
  Status write(const std::function<Status(Session&)>& work) { return database_->run(Access::write, work).status; }
  static BlockRecord block(const std::string& id, const std::string& reason) {
    BlockRecord record;
    record.id = id;
    record.when = {{"tenant", {id}}};
    record.reason = reason;
    return record;
  }
  void put(const std::string& id, const std::string& reason) {
    ASSERT_TRUE(succeeded(write([&](Session& session) -> Status {
      const auto known = read_record<BlockRecord>(session, id);
      if (!known.ok()) return known.failure();
      Status done = known.value() ? change_record(session, block(id, reason)) : add_record(session, block(id, reason));
      if (done.ok()) done = note_change(session, Table<BlockRecord>::kTopic, {&id, 1});
      return done;
    })));
  }
  void remove(const std::string& id) {
    ASSERT_TRUE(succeeded(write([&](Session& session) -> Status {
      Status done = remove_record<BlockRecord>(session, id);
      if (done.ok()) done = note_change(session, Table<BlockRecord>::kTopic, {&id, 1});
      return done;
    })));
  }
  void look() {
    std::promise<void> looked;
    watch_.look([&] { looked.set_value(); });
    looked.get_future().wait();
  }
  std::vector<std::string> kept_in_files() {
    WatchedBlocks later;
    ChangeWatch without(*database_, folder_.path(), std::make_shared<ManualClock>(kStart), {});
    without.add(std::string(Table<BlockRecord>::kTopic), later);
    without.start(false);
    return later.ids();
  }

  Backend backend_{GetParam()};
  std::unique_ptr<database::Database> database_ = backend_.open();
  rules::TemporaryFolder folder_;
  WatchedBlocks blocks_;
  ChangeWatch watch_{*database_, folder_.path(), std::make_shared<ManualClock>(kStart), {}};
};

INSTANTIATE_TEST_SUITE_P(BothDatabases, ChangedRecords, database::tests::kBothDatabases, database::tests::dialect_name);

TEST(LookPatience, DoublesWithEachLookThatIsNotDoneInTime) {
  using std::chrono::seconds;
  LookPatience patience;
  EXPECT_EQ(patience.now(), seconds(5));
  patience.note(false, seconds(1));
  EXPECT_EQ(patience.now(), seconds(5)) << "more time would not have helped";
  patience.note(false, seconds(5));
  EXPECT_EQ(patience.now(), seconds(10));
  for (int i = 0; i < 9; ++i) patience.note(false, seconds(200));
  EXPECT_EQ(patience.now(), LookPatience::kMost);
  patience.note(true, seconds(100));
  EXPECT_EQ(patience.now(), seconds(5));
}

TEST_P(ChangedRecords, AreReadAloneAndTheRestStays) {
  ASSERT_EQ(blocks_.whole, 1);
  put("b", "new");
  look();
  EXPECT_THAT(blocks_.ids(), ElementsAre("a:one", "b:new", "c:one"));
  put("a", "two");
  remove("c");
  put("d", "new");
  look();
  EXPECT_THAT(blocks_.ids(), ElementsAre("a:two", "b:new", "d:new"));
  EXPECT_THAT(blocks_.some, ElementsAre(ElementsAre("b"), ElementsAre("a", "c", "d")));
  EXPECT_EQ(blocks_.whole, 1);
  EXPECT_THAT(kept_in_files(), ElementsAre("a:two", "b:new", "d:new"));
}

TEST_P(ChangedRecords, KeepTheMarksOfTheOthers) {
  const std::shared_ptr<UseMark> mark = blocks_.kept.mark_of("a");
  put("b", "new");
  put("c", "two");
  look();
  EXPECT_EQ(blocks_.kept.mark_of("a"), mark);
  EXPECT_NE(blocks_.kept.mark_of("b"), nullptr);
}

TEST_P(ChangedRecords, AChangeThatNamesNoRecordIsReadAsAWhole) {
  put("b", "new");
  ASSERT_TRUE(succeeded(write([](Session& session) { return note_change(session, Table<BlockRecord>::kTopic); })));
  look();
  EXPECT_EQ(blocks_.whole, 2);
  EXPECT_THAT(blocks_.some, IsEmpty());
  EXPECT_THAT(blocks_.ids(), ElementsAre("a:one", "b:new", "c:one"));
}

TEST_P(ChangedRecords, TooManyAreReadAsAWhole) {
  ASSERT_TRUE(succeeded(write([](Session& session) -> Status {
    for (std::size_t i = 0; i <= ChangeWatch::kMostRecords; ++i) {
      const std::string id = "x" + std::to_string(i);
      Status done = add_record(session, block(id, "many"));
      if (done.ok()) done = note_change(session, Table<BlockRecord>::kTopic, {&id, 1});
      if (!done.ok()) return done;
    }
    return success();
  })));
  look();
  EXPECT_EQ(blocks_.whole, 2);
  EXPECT_EQ(blocks_.ids().size(), ChangeWatch::kMostRecords + 3);
}

TEST_P(ChangedRecords, WhatIsKeptInFilesIsWrittenFromMemoryNowAndThen) {
  for (std::size_t i = 0; i <= ChangeWatch::kMostKept / ChangeWatch::kMostRecords; ++i) {
    ASSERT_TRUE(succeeded(write([&](Session& session) -> Status {
      for (std::size_t j = 0; j < ChangeWatch::kMostRecords; ++j) {
        const std::string id = "x" + std::to_string(i) + "-" + std::to_string(j);
        Status done = add_record(session, block(id, "many"));
        if (done.ok()) done = note_change(session, Table<BlockRecord>::kTopic, {&id, 1});
        if (!done.ok()) return done;
      }
      return success();
    })));
    look();
  }
  EXPECT_EQ(blocks_.whole, 1) << "the table is not read again";
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "blocks.changes"));
  EXPECT_EQ(kept_in_files(), blocks_.ids());
  put("y", "later");
  look();
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "blocks.changes"));
  EXPECT_EQ(kept_in_files(), blocks_.ids());
}

TEST_P(ChangedRecords, ATornEndOfTheFileIsLeftOut) {
  put("b", "new");
  look();
  put("d", "torn");
  look();
  const std::filesystem::path changes = folder_.path() / "blocks.changes";
  std::filesystem::resize_file(changes, std::filesystem::file_size(changes) - 3);
  EXPECT_THAT(kept_in_files(), ElementsAre("a:one", "b:new", "c:one"));
}

TEST_P(ChangedRecords, OnlyTheLatestVersionsNameTheirRecords) {
  const std::string id = "a";
  ASSERT_TRUE(succeeded(write([&](Session& session) -> Status {
    for (std::int64_t i = 0; i < kKnownChanges + 5; ++i) {
      if (Status noted = note_change(session, "many", {&id, 1}); !noted.ok()) return noted;
    }
    const auto old = read_changed_records(session, "many", 2, kKnownChanges + 5, 2'000);
    EXPECT_FALSE(old.value().has_value());
    const auto latest = read_changed_records(session, "many", kKnownChanges, kKnownChanges + 5, 2'000);
    EXPECT_THAT(*latest.value(), ElementsAre("a"));
    return success();
  })));
}

TEST_P(ChangedRecords, NodesAreCountedUntilTheyStop) {
  const auto note = [&](const std::string& name) {
    NodeCounts counts;
    EXPECT_TRUE(succeeded(write([&](Session& session) -> Status {
      const Result<NodeCounts> noted = note_node(session, name);
      if (!noted.ok()) return noted.failure();
      counts = noted.value();
      return success();
    })));
    return counts;
  };
  EXPECT_EQ(note("one"), (NodeCounts{1, 1}));
  EXPECT_EQ(note("two"), (NodeCounts{2, 2}));
  EXPECT_EQ(note("one"), (NodeCounts{2, 2}));
  EXPECT_TRUE(succeeded(write([](Session& session) { return forget_node(session, "two"); })));
  EXPECT_EQ(note("one"), (NodeCounts{1, 1}));
}

TEST_P(ChangedRecords, ATokenThatHasExpiredIsFoundUntilTheTrailHasAnEntry) {
  const auto token = [](const std::string& name, std::optional<TimePoint> expires, std::optional<TimePoint> revoked) {
    Token made;
    made.id = name;
    made.name = name;
    made.hash = hash_of_token(name);
    made.expires = expires;
    made.revoked = revoked;
    return made;
  };
  const auto expired = [&](TimePoint now) {
    std::vector<std::string> ids;
    EXPECT_TRUE(succeeded(write([&](Session& session) -> Status {
      if (Status begun = begin_expiries(session); !begun.ok()) return begun;
      ids = expired_tokens(session, now, 10).value();
      return success();
    })));
    return ids;
  };
  ASSERT_TRUE(succeeded(write([&](Session& session) -> Status {
    Status done = add_token(session, token("soon", kStart + std::chrono::seconds(5), {}));
    if (done.ok()) done = add_token(session, token("never", {}, {}));
    if (done.ok()) done = add_token(session, token("revoked", kStart, {}));
    if (done.ok()) done = revoke_token(session, "revoked", kStart);
    return done;
  })));
  EXPECT_THAT(expired(kStart + std::chrono::seconds(4)), IsEmpty());
  EXPECT_THAT(expired(kStart + std::chrono::seconds(5)), ElementsAre("soon"));
  ASSERT_TRUE(succeeded(write([](Session& session) {
    AuditEntry entry;
    entry.action = std::string(kTokenExpired);
    entry.object = "token/soon";
    return append(session, entry);
  })));
  EXPECT_THAT(expired(kStart + std::chrono::seconds(9)), IsEmpty());
}

}  // namespace
}  // namespace weir::control
