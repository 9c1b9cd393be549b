#include "server/journal_store.h"

#include <gtest/gtest.h>

#include "database/location.h"
#include "database/migration.h"
#include "server/journal_tables.h"
#include "tests/support/temporary_folder.h"

namespace weir::server {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class JournalStoreTest : public testing::Test {
 protected:
  JournalStoreTest() {
    const Result<database::Location> location = database::parse_location("sqlite:journal.db", folder_.path());
    database_ = database::make_database(location.value());
    EXPECT_TRUE(database::migrate(*database_, journal_migrations(), now_).ok());
    open(StoredEntries::audited);
  }
  void open(StoredEntries which, Duration keep = hours(24)) {
    observe::JournalOptions options;
    options.bytes = std::size_t{1} << 20;
    options.sample = 0;
    journal_ = std::make_unique<observe::Journal>(options, 1);
    writer_ = journal_->make_writer(0, 42);
    store_ = std::make_unique<JournalStore>(
        *journal_, *database_,
        JournalStore::Options{.which = which, .keep = keep, .node = "node-1", .is_audited = [](std::string_view rule) {
                                return rule == "audited";
                              }});
  }
  void decide(bool allowed, std::string_view rule, std::string_view tenant, const BucketKey& subject = {}) {
    Decision decision;
    decision.allowed = allowed;
    decision.reason = allowed ? Reason::ok : Reason::limit_exceeded;
    decision.at = now_;
    decision.source = "memory";
    RuleOutcome& outcome = decision.rules.append();
    outcome.rule = rule;
    outcome.allowed = allowed;
    outcome.subject = subject;
    decision.deciding = 0;
    const Attribute attributes[] = {{"tenant", tenant}, {"action", "search"}};
    RequestContext context;
    context.attributes = attributes;
    if (writer_->wants(decision)) writer_->on_decision(decision, context);
  }
  std::vector<JournalStore::Found> find(const observe::JournalQuery& query = {}, std::size_t count = 100,
                                        const std::optional<observe::JournalPlace>& after = {}) const {
    const auto found = store_->find(query, count, after);
    EXPECT_TRUE(found.ok()) << found.failure().message;
    return found.value();
  }

  TimePoint now_ = from_micros(1'800'000'000'000'000);
  rules::TemporaryFolder folder_;
  std::unique_ptr<database::Database> database_;
  std::unique_ptr<observe::Journal> journal_;
  std::shared_ptr<observe::JournalWriter> writer_;
  std::unique_ptr<JournalStore> store_;
};

TEST_F(JournalStoreTest, OnlyDenialsOfAuditedRulesAreStoredByDefault) {
  decide(false, "audited", "acme");
  decide(false, "other", "acme");
  decide(true, "audited", "acme");
  store_->finish(now_);
  ASSERT_EQ(find().size(), 1u);
  EXPECT_NE(find()[0].json.find("\"rule\":\"audited\""), std::string::npos);
  EXPECT_EQ(find()[0].node, "node-1");
  EXPECT_EQ(store_->written(), 1u);
}

TEST_F(JournalStoreTest, AllDenialsOrAllEntriesAreStoredIfThatIsAskedFor) {
  open(StoredEntries::denials);
  decide(false, "other", "acme");
  decide(true, "other", "acme");
  store_->finish(now_);
  EXPECT_EQ(find().size(), 1u);
  now_ += seconds(5);
  open(StoredEntries::all);
  decide(true, "other", "acme");
  store_->finish(now_);
  EXPECT_EQ(find().size(), 2u);
}

TEST_F(JournalStoreTest, AnEntryIsStoredOnceWithAllThatItHasCounted) {
  for (int i = 0; i < 3; ++i) decide(false, "audited", "acme");
  store_->write(now_);
  EXPECT_EQ(store_->written(), 0u) << "more may be counted";
  for (int i = 0; i < 4; ++i) decide(false, "audited", "acme");
  now_ += seconds(2);
  store_->finish(now_);
  ASSERT_EQ(find().size(), 1u);
  EXPECT_NE(find()[0].json.find("\"count\":7"), std::string::npos) << find()[0].json;
}

TEST_F(JournalStoreTest, ASearchFiltersAndPagesAsInMemory) {
  for (int i = 0; i < 20; ++i) {
    decide(false, "audited", i % 2 == 0 ? "acme" : "globex");
    now_ += seconds(2);
  }
  store_->finish(now_);
  EXPECT_EQ(find({.attributes = {{"tenant", "acme"}}}).size(), 10u);
  EXPECT_EQ(find({.attributes = {{"tenant", "acme"}, {"action", "search"}}}).size(), 10u);
  EXPECT_TRUE(find({.attributes = {{"tenant", "acme"}, {"action", "export"}}}).empty());
  EXPECT_TRUE(find({.rule = "other"}).empty());
  EXPECT_TRUE(find({.reason = Reason::blocked}).empty());
  EXPECT_TRUE(find({.outcome = observe::JournalQuery::Outcome::allowed}).empty());
  EXPECT_EQ(find({.from = now_ - seconds(10)}).size(), 5u);
  EXPECT_EQ(find({.until = now_ - seconds(10)}).size(), 15u);
  std::optional<observe::JournalPlace> after;
  std::vector<observe::JournalPlace> seen;
  for (int page = 0; page < 5; ++page) {
    for (const JournalStore::Found& each : find({}, 4, after)) seen.push_back(each.place);
    after = seen.back();
  }
  ASSERT_EQ(seen.size(), 20u);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LT(seen[i], seen[i - 1]);
}

TEST_F(JournalStoreTest, ASearchForASubjectFindsOnlyItsEntries) {
  const BucketKey acme{.high = 0x0123456789abcdef, .low = 1};
  const BucketKey globex{.high = 0xfedcba9876543210, .low = 2};
  for (int i = 0; i < 6; ++i) {
    decide(false, "audited", i % 3 == 0 ? "acme" : "globex", i % 3 == 0 ? acme : globex);
    now_ += seconds(2);
  }
  store_->finish(now_);
  const SubjectDigits digits = subject_digits(acme);
  const std::string whole(digits.data(), digits.size());
  EXPECT_EQ(find({.subject = whole}).size(), 2u);
  EXPECT_EQ(find({.subject = whole.substr(0, 4)}).size(), 2u);
  EXPECT_EQ(find({.subject = whole + "0"}).size(), 0u);
  EXPECT_TRUE(find({.subject = "zz"}).empty());
  EXPECT_TRUE(find({.subject = "%"}).empty());
  EXPECT_EQ(find({.rule = "audited", .subject = whole}, 1).size(), 1u);
}

TEST_F(JournalStoreTest, OldEntriesAreForgotten) {
  open(StoredEntries::audited, hours(1));
  decide(false, "audited", "acme");
  store_->finish(now_);
  now_ += hours(2);
  decide(false, "audited", "globex");
  store_->finish(now_);
  ASSERT_EQ(find().size(), 1u);
  EXPECT_EQ(find()[0].place.at, now_);
}

TEST_F(JournalStoreTest, WhatTheDatabaseDoesNotTakeIsCountedAsLost) {
  decide(false, "audited", "acme");
  database_->stop();
  store_->finish(now_);
  EXPECT_EQ(store_->written(), 0u);
  EXPECT_EQ(store_->lost(), 1u);
}

}  // namespace
}  // namespace weir::server
