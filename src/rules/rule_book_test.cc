#include "rules/rule_book.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace weir::rules {
namespace {

const char kOne[] = "version: 1\nrules: [{id: one, limit: 1, window: 1s}]\n";
const char kTwo[] = "version: 1\nrules: [{id: one, limit: 2, window: 1s}, {id: two, limit: 1, window: 1s}]\n";

// What a server attributes decisions to stays the same while only operators change something.
TEST(RuleBook, RulesKeepTheirStampUntilOthersAreLoaded) {
  RuleBook book;
  std::vector<std::shared_ptr<RulesStamp>> made;
  std::vector<std::uint64_t> numbers;
  book.stamp_with([&](const RulesBase& base, std::uint64_t number) {
    EXPECT_EQ(base.texts.size(), 1u);
    numbers.push_back(number);
    return made.emplace_back(std::make_shared<RulesStamp>(7 + made.size(), 0));
  });
  ASSERT_TRUE(book.replace_texts({{"a", kOne}}, "a").ok());
  EXPECT_EQ(book.current()->told_hash(), 7u);
  EXPECT_EQ(book.current()->told_version(), 0u) << "it has no number yet";
  made[0]->number = 42;
  EXPECT_EQ(book.current()->told_version(), 42u);
  RuntimeOverride more;
  more.rules = {"one"};
  more.change.when = {{"tenant", {"acme"}}};
  more.change.change.limit = 5;
  more.change.use = std::make_shared<UseMark>("ovr_1");
  ASSERT_TRUE(book.set_overrides({more}).ok());
  EXPECT_EQ(book.current()->told_version(), 42u);
  EXPECT_EQ(made.size(), 1u);
  EXPECT_FALSE(book.replace_texts({{"b", "version: 1\nrules: [{id: one}]\n"}}, "b").ok());
  EXPECT_EQ(book.current()->told_version(), 42u);
  ASSERT_TRUE(book.replace_texts({{"c", kTwo}}, "c").ok());
  EXPECT_EQ(book.current()->told_hash(), 6u + made.size());
  EXPECT_EQ(numbers.front(), 1u);
}

TEST(RuleBook, WithoutStampsTheVersionIsTold) {
  RuleBook book;
  ASSERT_TRUE(book.replace_texts({{"a", kOne}}, "a").ok());
  ASSERT_TRUE(book.replace_texts({{"a", kTwo}}, "a").ok());
  EXPECT_EQ(book.current()->told_version(), 2u);
  EXPECT_EQ(book.current()->told_hash(), 0u);
}

TEST(RuleBook, AFailedReloadKeepsTheLastGoodRules) {
  const TemporaryFolder folder;
  folder.write("rules.yaml", kOne);
  RuleBook book;
  EXPECT_EQ(book.version(), 0u);
  EXPECT_TRUE(book.current()->rules().empty());
  ASSERT_TRUE(book.load(folder.path() / "rules.yaml", from_micros(5)).ok());
  EXPECT_EQ(book.version(), 1u);
  const auto good = book.current();
  ASSERT_EQ(good->rules().size(), 1u);

  folder.write("rules.yaml", "version: 1\nrules: [{id: one}]\n");
  const Result<LoadEffect> failed = book.reload(from_micros(6));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(book.last_error(), failed.failure().message);
  EXPECT_NE(book.last_error().find("rules[0].limit: is missing"), std::string::npos);
  EXPECT_EQ(book.current(), good);
  EXPECT_EQ(book.version(), 1u);
  EXPECT_EQ(book.failures(), 1u);
  EXPECT_EQ(book.last_success(), from_micros(5));

  std::filesystem::remove(folder.path() / "rules.yaml");
  EXPECT_FALSE(book.reload(from_micros(7)).ok());
  EXPECT_EQ(book.current(), good);

  folder.write("rules.yaml", kTwo);
  ASSERT_TRUE(book.reload(from_micros(8)).ok());
  EXPECT_EQ(book.current()->rules().size(), 2u);
  EXPECT_EQ(book.last_error(), "");
  EXPECT_EQ(book.successes(), 2u);
  EXPECT_EQ(book.failures(), 2u);
  EXPECT_EQ(book.last_success(), from_micros(8));
  // Counters keyed by ordinal go on where they were, and ids outlive the set that was replaced.
  EXPECT_EQ(book.current()->rules()[0].name.ordinal, good->rules()[0].name.ordinal);
  EXPECT_EQ(book.current()->rules()[0].name.id.data(), good->rules()[0].name.id.data());
}

TEST(RuleBook, ReplaceChecksToo) {
  RuleBook book;
  EXPECT_EQ(book.reload().failure().code, Code::failed_precondition);
  Rules rules;
  rules.rules.resize(1);
  rules.rules[0].id = "x";
  EXPECT_FALSE(book.replace(rules).ok());
  EXPECT_EQ(book.version(), 0u);
  rules.rules[0].allowance = {.algorithm = Algorithm::gcra, .limit = 1, .window = std::chrono::seconds(1)};
  EXPECT_TRUE(book.replace(rules).ok());
  EXPECT_EQ(book.version(), 1u);
}

TEST(RuleBook, ReadersSeeWholeRuleSetsWhileRulesAreReplaced) {
  RuleBook book;
  const auto with_limit = [](std::int64_t limit) {
    Rules rules;
    rules.rules.resize(2);
    for (std::size_t i = 0; i < 2; ++i) {
      rules.rules[i].id = "r" + std::to_string(i);
      rules.rules[i].allowance = {.algorithm = Algorithm::gcra, .limit = limit, .window = std::chrono::seconds(1)};
    }
    return rules;
  };
  ASSERT_TRUE(book.replace(with_limit(1)).ok());
  std::thread writer([&] {
    for (std::int64_t limit = 2; limit <= 200; ++limit) EXPECT_TRUE(book.replace(with_limit(limit)).ok());
  });
  std::uint64_t version = 0;
  while (version < 200) {
    version = book.version();
    const auto set = book.current();
    ResolvedNames names;
    Matches matches;
    set->match(Request(), from_micros(1), names, matches);
    ASSERT_EQ(matches.size(), 2u);
    EXPECT_EQ(matches[0].allowance->limit, matches[1].allowance->limit);
    EXPECT_GE(matches[0].allowance->limit, static_cast<std::int64_t>(version));
  }
  writer.join();
}

TEST(RuleBook, FilesThatHoldWhatIsLoadedAreNotLoadedAgain) {
  const TemporaryFolder folder;
  folder.write("rules.yaml", kOne);
  RuleBook book;
  ASSERT_TRUE(book.load(folder.path() / "rules.yaml").ok());
  const auto first = book.current();
  folder.write("rules.yaml", kOne);
  EXPECT_EQ(book.reload().value(), LoadEffect::unchanged);
  EXPECT_EQ(book.current(), first);
  EXPECT_EQ(book.version(), 1u);
  EXPECT_EQ(book.successes(), 1u);
  EXPECT_EQ(book.unchanged(), 1u);

  folder.write("rules.yaml", "rules:\n");
  EXPECT_FALSE(book.reload().ok());
  const std::uint64_t bad = book.last_read();
  EXPECT_FALSE(book.reload().ok()) << "the same fault again";
  EXPECT_EQ(book.last_read(), bad);
  EXPECT_EQ(book.failures(), 2u);

  folder.write("rules.yaml", kOne);
  EXPECT_EQ(book.reload().value(), LoadEffect::replaced) << "the error is over";
  EXPECT_EQ(book.last_error(), "");
  EXPECT_NE(book.last_read(), bad);

  Rules other;
  ASSERT_TRUE(book.replace(other).ok());
  EXPECT_EQ(book.reload().value(), LoadEffect::replaced) << "other rules were loaded in between";
  ASSERT_TRUE(book.load(folder.path() / "rules.yaml").ok());
  EXPECT_EQ(book.successes(), 5u) << "who gives the path again wants it read";
}

TEST(RuleBook, AFileUnderAnotherNameIsAnotherFile) {
  const TemporaryFolder folder;
  folder.write("a.yaml", kOne);
  RuleBook book;
  ASSERT_TRUE(book.load(folder.path()).ok());
  std::filesystem::rename(folder.path() / "a.yaml", folder.path() / "b.yaml");
  EXPECT_EQ(book.reload().value(), LoadEffect::replaced);
}

Rule rule_of(const std::string& id, std::int64_t limit) {
  Rule rule;
  rule.id = id;
  rule.allowance = {.limit = limit, .window = std::chrono::seconds(1)};
  return rule;
}

// "one=1 two=2": the ids and limits of the active rules.
std::string summary(const RuleBook& book) {
  std::string out;
  for (const CompiledRule& rule : book.current()->rules()) {
    out += (out.empty() ? "" : " ") + rule.source.id + "=" + std::to_string(rule.source.allowance.limit);
  }
  return out;
}

TEST(RuleBook, ChangesLieOnTopOfTheFileAndStayWhenItIsReloaded) {
  const TemporaryFolder folder;
  folder.write("rules.yaml", kTwo);
  RuleBook book;
  EXPECT_EQ(book.set_changes({}).failure().code, Code::failed_precondition) << "nothing is loaded yet";
  ASSERT_TRUE(book.load(folder.path() / "rules.yaml").ok());
  ASSERT_TRUE(book.set_changes({.rules = {rule_of("one", 9), rule_of("three", 3)}, .removed = {"two"}}).ok());
  EXPECT_EQ(summary(book), "one=9 three=3");
  EXPECT_EQ(book.reload().value(), LoadEffect::unchanged) << "the file is the same";

  folder.write("rules.yaml",
               "version: 1\nrules: [{id: two, limit: 5, window: 1s}, {id: four, limit: 4, window: 1s}]\n");
  ASSERT_TRUE(book.reload().ok());
  EXPECT_EQ(summary(book), "four=4 one=9 three=3");
  ASSERT_TRUE(book.clear_changes().ok());
  EXPECT_EQ(summary(book), "two=5 four=4");
  EXPECT_TRUE(book.changes().empty());
}

TEST(RuleBook, ChangesThatAreInvalidChangeNothing) {
  RuleBook book;
  Rules rules;
  rules.rules = {rule_of("one", 1)};
  ASSERT_TRUE(book.replace(rules).ok());
  const Status missing = book.set_changes({.rules = {}, .removed = {"nine"}});
  EXPECT_EQ(missing.failure().message, "rule \"nine\" does not exist");
  const Status invalid = book.set_changes({.rules = {rule_of("two", -1)}, .removed = {}});
  EXPECT_EQ(invalid.failure().message, "rule two: limit: is -1, expected 0 to 1000000000000");
  EXPECT_EQ(summary(book), "one=1");
  EXPECT_EQ(book.version(), 1u);
  EXPECT_EQ(book.last_error(), "") << "that is about the file";
}

TEST(RuleBook, EveryLoadMakesAVersionThatCanBeRestored) {
  const TemporaryFolder folder;
  folder.write("rules.yaml", kOne);
  RuleBook book;
  ASSERT_TRUE(book.load(folder.path() / "rules.yaml", from_micros(5)).ok());
  ASSERT_TRUE(book.set_changes({.rules = {rule_of("one", 7)}, .removed = {}}, from_micros(6)).ok());
  folder.write("rules.yaml", kTwo);
  ASSERT_TRUE(book.reload(from_micros(7)).ok());
  EXPECT_EQ(summary(book), "one=7 two=1");
  const std::vector<RulesVersion> history = book.history();
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].number, 1u);
  EXPECT_EQ(history[0].source, (folder.path() / "rules.yaml").string());
  EXPECT_EQ(history[0].loaded, from_micros(5));
  EXPECT_FALSE(history[0].has_changes);
  EXPECT_TRUE(history[1].has_changes);
  EXPECT_EQ(history[2].rules, 2u);
  EXPECT_NE(history[0].content, history[1].content);
  EXPECT_EQ(book.current()->version(), 3u);

  ASSERT_TRUE(book.restore(1, from_micros(8)).ok());
  EXPECT_EQ(summary(book), "one=1");
  EXPECT_EQ(book.version(), 4u);
  EXPECT_EQ(book.history()[3].content, history[0].content);
  EXPECT_EQ(book.restore(99).failure().code, Code::not_found);
  EXPECT_EQ(book.reload().value(), LoadEffect::replaced) << "the file has other rules";
  EXPECT_EQ(summary(book), "one=2 two=1") << "the changes were undone with the restored version";
}

TEST(RuleBook, KeepsABoundedNumberOfVersions) {
  RuleBook book;
  Rules rules;
  for (std::size_t i = 0; i < kMaxVersions + 5; ++i) {
    rules.rules = {rule_of("one", static_cast<std::int64_t>(i))};
    ASSERT_TRUE(book.replace(rules).ok());
  }
  EXPECT_EQ(book.history().size(), kMaxVersions);
  EXPECT_EQ(book.history().front().number, 6u);
  EXPECT_EQ(book.restore(5).failure().code, Code::not_found);
  ASSERT_TRUE(book.restore(6).ok());
  EXPECT_EQ(summary(book), "one=5");
}

TEST(RuleHistory, DropsTheTextsOfOldVersionsBeyondItsBound) {
  RuleHistory history;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    KeptVersion version;
    version.about.number = i;
    RulesBase base;
    base.texts = {{"a", std::string(kMaxKeptBytes / 2, 'a')}};
    version.base = std::make_shared<const RulesBase>(std::move(base));
    version.changes = std::make_shared<const RuleChanges>();
    history.add(std::move(version));
  }
  const std::vector<RulesVersion> list = history.list();
  EXPECT_FALSE(list[0].restorable);
  EXPECT_TRUE(list[1].restorable);
  EXPECT_TRUE(list[2].restorable);
}

TEST(RuleBook, WarnsOfRulesWhoseBucketsMoveInRedis) {
  const TemporaryFolder folder;
  const auto write = [&](const char* more) {
    folder.write("rules.yaml", std::string("version: 1\nrules: [{id: one, per: [tenant, user], limit: 1, window: 1s, "
                                           "on_store_failure: deny") +
                                   more + "}]\n");
  };
  write("");
  RuleBook book;
  ASSERT_TRUE(book.load(folder.path() / "rules.yaml").ok());
  EXPECT_TRUE(book.warnings().empty());
  write(", hash_tag: subject");
  ASSERT_TRUE(book.reload().ok());
  ASSERT_EQ(book.warnings().size(), 1u);
  EXPECT_EQ(
      book.warnings()[0],
      "rule one: hash_tag: has changed; it is a part of the keys in Redis, so the rule's buckets start full there");
  write(", hash_tag: subject, mode: shadow");
  ASSERT_TRUE(book.reload().ok());
  EXPECT_TRUE(book.warnings().empty());
}

TEST(RuleBook, KeepsTheWarningsOfTheActiveRules) {
  const TemporaryFolder folder;
  folder.write("rules.yaml",
               "version: 1\nrules: [{id: one, per: [tennant], limit: 1, window: 1s, on_store_failure: deny}]\n");
  RuleBook book;
  ASSERT_TRUE(book.load(folder.path() / "rules.yaml").ok());
  ASSERT_EQ(book.warnings().size(), 1u);
  EXPECT_NE(book.warnings()[0].find("rules.yaml:2:25: rules[0].per[0]: "), std::string::npos) << book.warnings()[0];
}

}  // namespace
}  // namespace weir::rules
