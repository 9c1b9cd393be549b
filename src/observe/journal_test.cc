#include "observe/journal.h"

#include <gtest/gtest.h>

#include <thread>

#include "observe/decision_log.h"

namespace weir::observe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Outcome = JournalQuery::Outcome;

const TimePoint kBegin = from_micros(1'800'000'000'000'000);

class JournalTest : public testing::Test {
 protected:
  static JournalOptions small() {
    JournalOptions options;
    options.bytes = std::size_t{1} << 20;
    options.sample = 0;
    return options;
  }
  void open(const JournalOptions& options, std::size_t loops = 1) {
    journal_ = std::make_unique<Journal>(options, loops);
    writers_.clear();
    for (std::size_t i = 0; i < loops; ++i) writers_.push_back(journal_->make_writer(i, 42 + i));
  }
  JournalTest() { open(small()); }

  Decision decision(bool allowed, std::string_view rule = "per-tenant") const {
    Decision made;
    made.allowed = allowed;
    made.reason = allowed ? Reason::ok : Reason::limit_exceeded;
    made.cost = 3;
    made.at = now_;
    made.source = "memory";
    RuleOutcome& first = made.rules.append();
    first.rule = rule;
    first.ordinal = rule == "per-tenant" ? 0 : 1;
    first.subject = {0x9c41d2e07b5a1234, 0x5678};
    first.allowed = allowed;
    first.limit = 120;
    first.remaining = 7;
    first.cost = 3;
    first.retry_after = made.retry_after = allowed ? Duration(0) : Duration(500'000);
    made.rules.append().rule = "all";
    made.deciding = 0;
    return made;
  }
  void see(const Decision& decision, std::span<const Attribute> attributes, std::size_t loop = 0) {
    RequestContext context;
    context.attributes = attributes;
    context.rules_version = 7;
    if (writers_[loop]->wants(decision)) writers_[loop]->on_decision(decision, context);
  }
  void deny(std::string_view tenant, std::string_view rule = "per-tenant", std::size_t loop = 0) {
    const Attribute attributes[] = {{"tenant", tenant}, {"action", "search"}, {"api_key", "hunter2"}};
    see(decision(false, rule), attributes, loop);
  }
  void allow(std::string_view tenant) {
    const Attribute attributes[] = {{"tenant", tenant}, {"action", "search"}};
    see(decision(true), attributes);
  }
  std::vector<JournalEntry> find(const JournalQuery& query, std::size_t count = 100) const {
    return journal_->search(journal_->filter(query), count);
  }

  TimePoint now_ = kBegin;
  std::unique_ptr<Journal> journal_;
  std::vector<std::shared_ptr<JournalWriter>> writers_;
};

TEST_F(JournalTest, ADenialIsKeptWithTheStateOfEveryRule) {
  deny("acme");
  const std::vector<JournalEntry> found = find({});
  ASSERT_EQ(found.size(), 1u);
  const JournalEntry& entry = found[0];
  EXPECT_FALSE(entry.allowed);
  EXPECT_EQ(entry.reason, Reason::limit_exceeded);
  EXPECT_EQ(entry.at, kBegin);
  EXPECT_EQ(entry.cost, 3);
  EXPECT_EQ(entry.source, "memory");
  EXPECT_EQ(entry.rules_version, 7u);
  EXPECT_EQ(entry.retry_after, milliseconds(500));
  ASSERT_EQ(entry.rules.size(), 2u);
  EXPECT_EQ(entry.decisive(), &entry.rules[0]);
  EXPECT_EQ(entry.rules[0].rule, "per-tenant");
  EXPECT_EQ(entry.rules[0].limit, 120);
  EXPECT_EQ(entry.rules[0].remaining, 7);
  EXPECT_EQ(entry.rules[1].rule, "all");
}

TEST_F(JournalTest, NoIdentityIsKeptAsTextUnlessItIsAskedFor) {
  deny("acme");
  const JournalEntry hashed = find({}).at(0);
  ASSERT_EQ(hashed.attributes.size(), 3u);
  EXPECT_FALSE(hashed.find("tenant")->text.has_value());
  EXPECT_EQ(hashed.find("action")->text, "search");
  EXPECT_FALSE(hashed.find("api_key")->text.has_value());

  JournalOptions plain = small();
  plain.record.plain = true;
  open(plain);
  deny("acme");
  const JournalEntry shown = find({}).at(0);
  EXPECT_EQ(shown.find("tenant")->text, "acme");
  EXPECT_FALSE(shown.find("api_key")->text.has_value()) << "a secret is never kept";
}

TEST_F(JournalTest, ASearchFindsByTheValuesOfAttributesThoughOnlyHashesAreKept) {
  deny("acme");
  now_ += seconds(2);
  deny("globex");
  ASSERT_EQ(find({.attributes = {{"tenant", "acme"}}}).size(), 1u);
  EXPECT_EQ(find({.attributes = {{"tenant", "acme"}}})[0].at, kBegin);
  EXPECT_EQ(find({.attributes = {{"tenant", "acme"}, {"api_key", "hunter2"}}}).size(), 1u);
  EXPECT_TRUE(find({.attributes = {{"tenant", "acme"}, {"api_key", "other"}}}).empty());
  EXPECT_TRUE(find({.attributes = {{"user", "acme"}}}).empty());
}

TEST_F(JournalTest, ASearchFindsByRuleReasonOutcomeSubjectAndTime) {
  deny("acme");
  now_ += seconds(2);
  deny("acme", "other-rule");
  EXPECT_EQ(find({.rule = "per-tenant"}).size(), 1u);
  EXPECT_EQ(find({.rule = "all"}).size(), 0u) << "of a denial only the rule that is reported";
  EXPECT_EQ(find({.reason = Reason::limit_exceeded}).size(), 2u);
  EXPECT_EQ(find({.reason = Reason::blocked}).size(), 0u);
  EXPECT_EQ(find({.outcome = Outcome::denied}).size(), 2u);
  EXPECT_EQ(find({.outcome = Outcome::allowed}).size(), 0u);
  EXPECT_EQ(find({.subject = "9c41d2e07b5a"}).size(), 2u);
  EXPECT_EQ(find({.subject = "9c41d2e07b5b"}).size(), 0u);
  EXPECT_EQ(find({.from = kBegin + seconds(1)}).size(), 1u);
  EXPECT_EQ(find({.until = kBegin + seconds(2)}).size(), 1u);
}

TEST_F(JournalTest, WhatARuleInShadowModeWouldHaveDeniedIsKept) {
  Decision shadow = decision(true);
  shadow.rules[1].mode = Mode::shadow;
  shadow.rules[1].allowed = false;
  for (int i = 0; i < 100; ++i) allow("acme");
  const Attribute attributes[] = {{"tenant", "acme"}};
  see(shadow, attributes);
  const std::vector<JournalEntry> found = find({.outcome = Outcome::shadow});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].allowed);
  EXPECT_TRUE(found[0].shadow_denied());
}

TEST_F(JournalTest, TheSameDenialWithinASecondIsCountedAndNotKeptAgain) {
  for (int i = 0; i < 1000; ++i) deny("acme");
  deny("globex");
  deny("acme", "other-rule");
  const std::vector<JournalEntry> found = find({.rule = "per-tenant"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(find({.attributes = {{"tenant", "acme"}}, .rule = "per-tenant"})[0].count, 1000u);
  EXPECT_EQ(find({.attributes = {{"tenant", "globex"}}})[0].count, 1u);
  now_ += seconds(1);
  deny("acme");
  EXPECT_EQ(find({.attributes = {{"tenant", "acme"}}, .rule = "per-tenant"}).size(), 2u);
}

TEST_F(JournalTest, ADenialIsNotCountedAsOneBeforeTheClockWasSetBack) {
  deny("acme");
  now_ -= seconds(30);
  deny("acme");
  EXPECT_EQ(find({}).size(), 2u);
}

TEST_F(JournalTest, OfAllowedDecisionsTheFirstOfASecondAreKeptAndThenAShare) {
  for (int i = 0; i < 1000; ++i) allow("acme");
  EXPECT_EQ(find({}, 10'000).size(), static_cast<std::size_t>(JournalWriter::kSurelyKept));
  now_ += seconds(1);
  allow("acme");
  EXPECT_EQ(find({}, 10'000).size(), static_cast<std::size_t>(JournalWriter::kSurelyKept) + 1);

  JournalOptions tenth = small();
  tenth.bytes = std::size_t{16} << 20;
  tenth.sample = kWholeShare / 10;
  open(tenth);
  for (int i = 0; i < 10'000; ++i) allow("acme");
  EXPECT_NEAR(static_cast<double>(find({}, 100'000).size()), 1000, 120);
}

TEST_F(JournalTest, TheNewestComeFirstAndAPlaceLeadsToTheNextPage) {
  open(small(), 3);
  for (std::size_t i = 0; i < 50; ++i) {
    deny("tenant-" + std::to_string(i), "per-tenant", i % 3);
    now_ += milliseconds(10);
  }
  const Journal::Filter all = journal_->filter({});
  std::vector<JournalEntry> pages;
  std::optional<JournalPlace> after;
  while (true) {
    const std::vector<JournalEntry> page = journal_->search(all, 7, after);
    if (page.empty()) break;
    pages.insert(pages.end(), page.begin(), page.end());
    after = place_from_text(place_text(place_of(page.back())));
    ASSERT_TRUE(after.has_value());
  }
  ASSERT_EQ(pages.size(), 50u);
  for (std::size_t i = 1; i < pages.size(); ++i) EXPECT_LT(pages[i].at, pages[i - 1].at);
}

TEST_F(JournalTest, APlaceThatIsNoneIsRefused) {
  for (const char* text : {"", "1", "1-2", "1-2-", "1-2-3-4", "x-2-3", "1-2-3 ", "-1-2-3", "1-fffffffff-3"}) {
    EXPECT_FALSE(place_from_text(text).has_value()) << text;
  }
}

TEST_F(JournalTest, MemoryIsBoundedAndTheOldestGo) {
  for (int i = 0; i < 100'000; ++i) {
    deny("tenant-" + std::to_string(i));
    now_ += milliseconds(1);
  }
  const std::vector<JournalEntry> found = find({}, 1'000'000);
  EXPECT_GT(found.size(), 1000u);
  EXPECT_LT(found.size() * sizeof(RecordRule), journal_->bytes());
  EXPECT_EQ(journal_->bytes(), std::size_t{1} << 20);
  EXPECT_EQ(found.front().at, now_ - milliseconds(1));
  for (std::size_t i = 1; i < found.size(); ++i) ASSERT_EQ(found[i - 1].at - found[i].at, milliseconds(1));
  EXPECT_EQ(journal_->written(), 100'000u);
}

TEST_F(JournalTest, TheSampleNeverPushesOutDenials) {
  JournalOptions everything = small();
  everything.sample = kWholeShare;
  open(everything);
  deny("acme");
  for (int i = 0; i < 100'000; ++i) allow("globex");
  EXPECT_EQ(find({.outcome = Outcome::denied}).size(), 1u);
}

TEST_F(JournalTest, ManyRulesAndAttributesAreCutAndTheDecisiveRuleStays) {
  Decision many = decision(false);
  while (many.rules.size() < 40) many.rules.append().rule = "filler";
  many.rules[33].rule = "decisive";
  many.rules[33].allowed = false;
  many.deciding = 33;
  std::vector<std::string> names;
  std::vector<Attribute> attributes;
  for (int i = 0; i < 60; ++i) names.push_back("name-" + std::to_string(i) + std::string(110, 'x'));
  const std::string value(4000, 'v');
  for (const std::string& name : names) attributes.push_back({name, value});
  JournalOptions plain = small();
  plain.record.plain = true;
  open(plain);
  see(many, attributes);
  const JournalEntry entry = find({}).at(0);
  EXPECT_EQ(entry.rules.size(), kMaxRecordRules);
  ASSERT_NE(entry.decisive(), nullptr);
  EXPECT_EQ(entry.decisive()->rule, "decisive");
  EXPECT_EQ(entry.attributes.size(), kMaxRecordAttributes);
}

TEST_F(JournalTest, AFollowerSeesWhatComesAfterItBegan) {
  deny("before");
  Journal::Follower follower = journal_->follow();
  const Journal::Filter all = journal_->filter({});
  EXPECT_TRUE(follower.next(all, 100).entries.empty());
  now_ += seconds(2);
  deny("acme");
  deny("globex");
  const Journal::News news = follower.next(journal_->filter({.attributes = {{"tenant", "globex"}}}), 100);
  ASSERT_EQ(news.entries.size(), 1u);
  EXPECT_EQ(news.lost, 0u);
  EXPECT_TRUE(follower.next(all, 100).entries.empty());
}

TEST_F(JournalTest, AFollowerIsToldHowMuchItMissed) {
  Journal::Follower follower = journal_->follow();
  for (int i = 0; i < 50; ++i) deny("tenant-" + std::to_string(i));
  const Journal::News news = follower.next(journal_->filter({}), 20);
  EXPECT_EQ(news.entries.size(), 20u);
  EXPECT_EQ(news.lost, 30u);
  for (int i = 0; i < 100'000; ++i) deny("other-" + std::to_string(i));
  const Journal::News later = follower.next(journal_->filter({}), 1'000'000);
  EXPECT_EQ(later.entries.size() + later.lost, 100'000u);
}

TEST_F(JournalTest, ASearchMayReadWhileLoopsWrite) {
  open(small(), 2);
  std::vector<std::thread> threads;
  for (std::size_t loop = 0; loop < 2; ++loop) {
    threads.emplace_back([this, loop] {
      for (int i = 0; i < 20'000; ++i) deny("tenant-" + std::to_string(i), "per-tenant", loop);
    });
  }
  std::size_t seen = 0;
  for (int i = 0; i < 10; ++i) {
    for (const JournalEntry& entry : find({.outcome = Outcome::denied}, 500)) {
      EXPECT_EQ(entry.rules.at(0).limit, 120);
      ++seen;
    }
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(journal_->written(), 40'000u);
  EXPECT_EQ(find({}, 500).size(), 500u);
}

}  // namespace
}  // namespace weir::observe
