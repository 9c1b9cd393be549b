// The audit trail, tokens, rule versions and the watch for changes, on SQLite and PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "control/audit_trail.h"
#include "control/change_log.h"
#include "control/change_watch.h"
#include "control/rule_versions.h"
#include "control/schema/schema.h"
#include "control/tokens.h"
#include "tests/database/backend.h"

namespace weir::control {
namespace {

using database::Access;
using database::Session;
using database::Statement;
using database::tests::Backend;
using database::tests::succeeded;
using testing::ElementsAre;
using testing::HasSubstr;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

class ControlContract : public testing::TestWithParam<database::Dialect> {
 protected:
  void SetUp() override { ASSERT_TRUE(succeeded(database::migrate(*database_, admin_migrations(), kNow))); }

  Status write(const std::function<Status(Session&)>& work) { return database_->run(Access::write, work).status; }
  template <typename T>
  T read(const std::function<Result<T>(Session&)>& work) {
    std::optional<T> found;
    const auto outcome = database_->run(Access::read, [&](Session& session) -> Status {
      Result<T> result = work(session);
      if (!result.ok()) return result.failure();
      found = std::move(result).value();
      return success();
    });
    EXPECT_TRUE(succeeded(outcome));
    return found ? *found : T{};
  }
  Token token(const std::string& name, const std::string& text) {
    Token made;
    made.id = make_id("tok");
    made.name = name;
    made.role = Role::operator_;
    made.hash = hash_of_token(text);
    made.created = kNow;
    made.actor = "test";
    return made;
  }
  Status add(const Token& made) {
    return write([&](Session& session) -> Status {
      if (Status added = add_token(session, made); !added.ok()) return added;
      return note_change(session, kTokensTopic);
    });
  }

  Backend backend_{GetParam()};
  std::unique_ptr<database::Database> database_ = backend_.open();
  rules::TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(BothDatabases, ControlContract, database::tests::kBothDatabases,
                         database::tests::dialect_name);

TEST_P(ControlContract, EntriesOfTheAuditTrailCannotBeChangedOrDeleted) {
  ASSERT_TRUE(succeeded(write([](Session& session) {
    return append(session, {.id = 0,
                            .at = kNow,
                            .actor = "ada",
                            .from = "",
                            .action = "token.create",
                            .object = "token/1",
                            .before = "",
                            .after = "{}",
                            .reason = "",
                            .node = "n"});
  })));
  static const Statement kUpdate{"UPDATE audit_entry SET actor = 'eve'"};
  static const Statement kDelete{"DELETE FROM audit_entry"};
  for (const Statement* statement : {&kUpdate, &kDelete}) {
    const Status changed = write([&](Session& session) -> Status {
      const auto rows = session.run(*statement);
      return rows.ok() ? success() : Status(rows.failure());
    });
    EXPECT_FALSE(changed.ok()) << statement->text;
  }
  const auto entries = read<std::vector<AuditEntry>>([](Session& s) { return read_audit(s, {}, INT64_MAX, 10); });
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].actor, "ada");
}

TEST_P(ControlContract, TheAuditTrailIsFilteredByWhatIsBelowAName) {
  ASSERT_TRUE(succeeded(write([](Session& session) -> Status {
    for (const char* action : {"token.create", "token.revoke", "tokens.other", "rules.change"}) {
      Status added = append(session, {.id = 0,
                                      .at = kNow,
                                      .actor = "ada",
                                      .from = "",
                                      .action = action,
                                      .object = "token/1",
                                      .before = "",
                                      .after = "",
                                      .reason = "",
                                      .node = "n"});
      if (!added.ok()) return added;
    }
    return success();
  })));
  const auto actions = [&](const AuditFilter& filter) {
    std::vector<std::string> found;
    for (const AuditEntry& each :
         read<std::vector<AuditEntry>>([&](Session& s) { return read_audit(s, filter, INT64_MAX, 10); })) {
      found.push_back(each.action);
    }
    return found;
  };
  AuditFilter filter;
  filter.action = "token";
  EXPECT_THAT(actions(filter), ElementsAre("token.revoke", "token.create"));
  filter.action = "token.create";
  EXPECT_THAT(actions(filter), ElementsAre("token.create"));
  filter = {};
  filter.object = "token";
  EXPECT_EQ(actions(filter).size(), 4U);
  filter.from = kNow + Duration(1);
  EXPECT_THAT(actions(filter), ElementsAre());
}

TEST_P(ControlContract, ANameBelongsToOneActiveToken) {
  const Token first = token("ada", "one");
  ASSERT_TRUE(succeeded(add(first)));
  const Status second = add(token("ada", "two"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().code, Code::already_exists);
  EXPECT_THAT(second.failure().message, HasSubstr(first.id));
  ASSERT_TRUE(succeeded(write([&](Session& session) { return revoke_token(session, first.id, kNow); })));
  EXPECT_TRUE(succeeded(add(token("ada", "two"))));
}

TEST_P(ControlContract, ANodeKnowsWhatWasCommittedBeforeItLooked) {
  const auto clock = std::make_shared<ManualClock>(kNow);
  TokenTable tokens;
  ChangeWatch watch(*database_, folder_.path(), clock, {});
  watch.add(std::string(kTokensTopic), tokens);
  watch.start(true);
  EXPECT_TRUE(tokens.empty());
  Token soon = token("ada", "one");
  soon.expires = kNow + std::chrono::seconds(1);
  ASSERT_TRUE(succeeded(add(soon)));
  std::promise<void> looked;
  watch.look([&] { looked.set_value(); });
  looked.get_future().wait();
  EXPECT_EQ(tokens.find("one", kNow)->name, "ada");
  EXPECT_FALSE(tokens.find("two", kNow).has_value());
  EXPECT_FALSE(tokens.find("one", *soon.expires).has_value());
  EXPECT_FALSE(tokens.has_active(*soon.expires));
  EXPECT_FALSE(tokens.empty());
  EXPECT_FALSE(watch.is_stale());
  clock->advance(ChangeWatch::kStaleAfter + Duration(1));
  EXPECT_TRUE(watch.is_stale());

  // A node that starts without the database.
  TokenTable later;
  ChangeWatch without(*database_, folder_.path(), clock, {});
  without.add(std::string(kTokensTopic), later);
  without.start(false);
  EXPECT_EQ(later.find("one", kNow)->role, Role::operator_);
  EXPECT_FALSE(without.synced().has_value());
}

TEST_P(ControlContract, ATopicThatCannotBeAppliedIsReportedOnceAndKeepsWhatItHad) {
  class Stubborn final : public Topic {
   public:
    Result<std::string> read(Session&) override { return std::string("text"); }
    Status apply(std::string_view) override { return Failure{Code::data_loss, "no"}; }
  };
  Stubborn topic;
  std::vector<std::string> told;
  ChangeWatch watch(*database_, folder_.path(), std::make_shared<ManualClock>(kNow),
                    [&](std::string_view name, const Failure& failure) {
                      told.push_back(std::string(name) + ": " + failure.message);
                    });
  watch.add("stubborn", topic);
  watch.start(true);
  std::promise<void> looked;
  watch.look([&] { looked.set_value(); });
  looked.get_future().wait();
  EXPECT_THAT(told, ElementsAre("stubborn: no"));
}

TEST_P(ControlContract, VersionsOfTheRulesAreNumberedAndListed) {
  for (const char* text : {"one", "two\nlines"}) {
    ASSERT_TRUE(succeeded(write([&](Session& session) -> Status {
      const auto number = add_rule_version(session, {.version = 0,
                                                     .at = kNow,
                                                     .author = "ada",
                                                     .reason = "why\nnot",
                                                     .node = "n",
                                                     .source = std::string(kDatabaseRules),
                                                     .hash = hash_of_rules(text),
                                                     .rules = 1,
                                                     .text = text});
      return number.ok() ? success() : Status(number.failure());
    })));
  }
  const auto latest =
      read<std::optional<RuleVersion>>([](Session& s) { return latest_rule_version(s, kDatabaseRules); });
  ASSERT_TRUE(latest.has_value());
  EXPECT_EQ(latest->text, "two\nlines");
  const RuleVersion again = decode_rule_version(encode(*latest)).value();
  EXPECT_EQ(again.version, latest->version);
  EXPECT_EQ(again.reason, "why\nnot");
  EXPECT_EQ(again.text, latest->text);
  EXPECT_FALSE(decode_rule_version(encode(*latest) + "x").ok());
  EXPECT_FALSE(decode_rule_version(encode(*latest).substr(0, 20)).ok());
  const auto listed = read<std::vector<RuleVersion>>([](Session& s) { return list_rule_versions(s, INT64_MAX, 10); });
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].version, latest->version);
  EXPECT_EQ(listed[0].text, "");
}

}  // namespace
}  // namespace weir::control
