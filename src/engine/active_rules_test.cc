#include "engine/active_rules.h"

#include <gtest/gtest.h>

#include <thread>

namespace weir::engine {
namespace {

Rules rules_with(std::int64_t limit) {
  Rules rules;
  rules.rules.resize(1);
  rules.rules[0].id = "a";
  rules.rules[0].allowance = {.algorithm = Algorithm::gcra, .limit = limit, .window = std::chrono::seconds(1)};
  return rules;
}

std::int64_t limit_of(const ActiveRules& rules) { return rules.set->rules().at(0).source.allowance.limit; }

TEST(RulesCache, HasTheRulesThatWereLoadedBeforeItAndAfterIt) {
  const auto book = std::make_shared<rules::RuleBook>();
  ASSERT_TRUE(book->replace(rules_with(1)).ok());
  RulesCache cache(book, HashKey{1});
  EXPECT_EQ(limit_of(cache.current()), 1);
  EXPECT_EQ(cache.current().seeds.size(), 1u);
  ASSERT_TRUE(book->replace(rules_with(2)).ok());
  EXPECT_EQ(limit_of(cache.current()), 2);
  EXPECT_FALSE(book->replace(Rules{.rules = {Rule{}}}).ok());
  EXPECT_EQ(limit_of(cache.current()), 2) << "a load that fails changes nothing";
}

TEST(RulesCache, MakesNewRulesReadyOnTheThreadThatLoadsThem) {
  const auto book = std::make_shared<rules::RuleBook>();
  RulesCache cache(book, HashKey{1});
  std::shared_ptr<const ActiveRules> seen[2];
  std::thread([&] { EXPECT_TRUE(book->replace(rules_with(2)).ok()); }).join();
  // Two threads share what was made before either of them asked.
  for (auto& each : seen) std::thread([&] { each = cache.current_shared(); }).join();
  EXPECT_EQ(limit_of(*seen[0]), 2);
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(RulesCache, ACacheThatWasDestroyedIsNotCalledAnyMore) {
  const auto book = std::make_shared<rules::RuleBook>();
  { const RulesCache gone(book, HashKey{1}); }
  EXPECT_TRUE(book->replace(rules_with(1)).ok());
}

// As in a server: the last reader must not be the one that frees.
TEST(RulesCache, ReplacedRulesAreKeptUntilNoThreadUsesThemAndTheyAreReleased) {
  const auto book = std::make_shared<rules::RuleBook>();
  book->keep_replaced();
  RulesCache cache(book, HashKey{1});
  ASSERT_TRUE(book->replace(rules_with(1)).ok());
  std::shared_ptr<const ActiveRules> in_flight = cache.current_shared();
  const std::weak_ptr<const rules::RuleSet> first = in_flight->set;
  ASSERT_TRUE(book->replace(rules_with(2)).ok());
  cache.current();
  book->release_unused();
  EXPECT_FALSE(first.expired()) << "a decision in flight uses it";
  in_flight.reset();
  EXPECT_FALSE(first.expired()) << "the book keeps it";
  book->release_unused();
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(limit_of(cache.current()), 2) << "what is loaded is never released";
}

TEST(RulesCache, WithoutAKeeperTheLastUserFreesReplacedRules) {
  const auto book = std::make_shared<rules::RuleBook>();
  RulesCache cache(book, HashKey{1});
  ASSERT_TRUE(book->replace(rules_with(1)).ok());
  const std::weak_ptr<const rules::RuleSet> first = cache.current().set;
  ASSERT_TRUE(book->replace(rules_with(2)).ok());
  EXPECT_FALSE(first.expired()) << "this thread has it";
  cache.current();
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace weir::engine
