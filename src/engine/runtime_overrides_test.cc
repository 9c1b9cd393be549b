// Overrides that operators set at run time, the plans of tenants' records, and what comes before what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "weir/prepared_check.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using rules::RuntimeOverride;
using testing::ElementsAre;
using testing::HasSubstr;

AllowanceChange limit_of(std::int64_t limit) {
  AllowanceChange change;
  change.limit = limit;
  return change;
}

RuntimeOverride set_limit(std::int64_t limit, bool emergency = false, std::vector<std::string> rules = {"r"}) {
  RuntimeOverride made;
  made.rules = std::move(rules);
  made.change.when = {{"tenant", {"acme"}}};
  made.change.change = limit_of(limit);
  made.change.emergency = emergency;
  made.change.use = std::make_shared<UseMark>("ovr_" + std::to_string(limit));
  return made;
}

class RuntimeOverridesTest : public ::testing::Test {
 protected:
  RuntimeOverridesTest() {
    LimiterOptions options;
    options.store = std::make_shared<memory::MemoryStore>(MemoryOptions{});
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    engine_ = std::make_unique<Engine>(book_, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }
  static Rule rule_named(std::string id, Algorithm algorithm = Algorithm::token_bucket) {
    Rule rule;
    rule.id = std::move(id);
    rule.per = {"tenant"};
    rule.allowance = {.algorithm = algorithm, .limit = 100, .window = 60s};
    return rule;
  }
  void load(const Rules& rules) {
    const Status loaded = book_->replace(rules);
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
  }
  std::int64_t limit_for(std::vector<Attribute> attributes, std::size_t rule = 0) {
    return engine_->check(Request(attributes)).rules[rule].limit;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::unique_ptr<Engine> engine_;
};

// Each level against the one below it, with everything below present as well.
TEST_F(RuntimeOverridesTest, EmergencyComesBeforeRunTimeBeforeFileBeforePlanBeforeTheRule) {
  Rule rule = rule_named("r");
  load({.rules = {rule}});
  const std::vector<Attribute> request = {{"tenant", "acme"}, {"plan", "pro"}};
  EXPECT_EQ(100, limit_for(request)) << "the rule itself";
  rule.plans = {{"pro", limit_of(200)}};
  load({.rules = {rule}});
  EXPECT_EQ(200, limit_for(request)) << "a plan";
  Override of_file;
  of_file.when = {{"tenant", {"acme"}}};
  of_file.change = limit_of(300);
  rule.overrides = {of_file};
  load({.rules = {rule}});
  EXPECT_EQ(300, limit_for(request)) << "an override of the file";
  ASSERT_TRUE(book_->set_overrides({set_limit(400)}).ok());
  EXPECT_EQ(400, limit_for(request)) << "one that was set at run time";
  of_file.change = limit_of(500);
  of_file.emergency = true;
  rule.overrides.push_back(of_file);
  load({.rules = {rule}});
  EXPECT_EQ(500, limit_for(request)) << "an emergency of the file";
  ASSERT_TRUE(book_->set_overrides({set_limit(400), set_limit(600, true)}).ok());
  EXPECT_EQ(600, limit_for(request)) << "an emergency that was set at run time";
}

TEST_F(RuntimeOverridesTest, TheyStayWhenRulesAreLoadedAgainAndGoWhenTheyAreTakenAway) {
  load({.rules = {rule_named("r")}});
  ASSERT_TRUE(book_->set_overrides({set_limit(400)}).ok());
  load({.rules = {rule_named("r"), rule_named("s")}});
  EXPECT_EQ(400, limit_for({{"tenant", "acme"}}));
  EXPECT_EQ(100, limit_for({{"tenant", "acme"}}, 1));
  EXPECT_EQ(100, limit_for({{"tenant", "other"}}));
  ASSERT_TRUE(book_->set_overrides({}).ok());
  EXPECT_EQ(100, limit_for({{"tenant", "acme"}}));
}

TEST_F(RuntimeOverridesTest, TheyAreNoVersionsOfTheRules) {
  load({.rules = {rule_named("r")}});
  const std::size_t versions = book_->history().size();
  const std::uint64_t number = book_->current()->version();
  ASSERT_TRUE(book_->set_overrides({set_limit(400)}).ok());
  EXPECT_EQ(versions, book_->history().size());
  EXPECT_EQ(number, book_->current()->version());
  load({.rules = {rule_named("r"), rule_named("s")}});
  EXPECT_GT(book_->current()->version(), number);
  EXPECT_EQ(book_->history().back().number, book_->current()->version());
}

TEST_F(RuntimeOverridesTest, AStarChangesEveryRuleThatItFitsAndNamesTheOthers) {
  Rule fixed = rule_named("fixed", Algorithm::fixed_window);
  load({.rules = {rule_named("r"), fixed}});
  RuntimeOverride burst = set_limit(50, false, {"*"});
  burst.change.change.burst = 70;
  ASSERT_TRUE(book_->set_overrides({burst}).ok());
  EXPECT_EQ(50, limit_for({{"tenant", "acme"}}));
  EXPECT_EQ(100, limit_for({{"tenant", "acme"}}, 1));
  EXPECT_THAT(book_->misfits(), ElementsAre(HasSubstr("override ovr_50: rule fixed: ")));
}

// What a rules file is refused for, an override must not bring either.
TEST_F(RuntimeOverridesTest, OneThatTheFileCouldNotHaveDoesNotFit) {
  Rule leased = rule_named("leased", Algorithm::fixed_window);
  leased.consistency = Consistency::leased;
  Rule synced = rule_named("synced", Algorithm::fixed_window);
  synced.consistency = Consistency::synced;
  Rule hot = rule_named("hot", Algorithm::fixed_window);
  hot.hot_keys = HotKeys::lease;
  Rule distinct = rule_named("distinct", Algorithm::fixed_window);
  distinct.distinct = "account";
  Rule shared = rule_named("shared", Algorithm::fixed_window);
  shared.region = RegionSharing::slices;
  Rule exact = rule_named("exact", Algorithm::fixed_window);
  load({.rules = {leased, synced, hot, distinct, shared, exact}});
  RuntimeOverride longer = set_limit(50, true, {"*"});
  longer.change.change.window = 120s;
  ASSERT_TRUE(book_->set_overrides({longer}).ok());
  EXPECT_THAT(book_->misfits(),
              ElementsAre(HasSubstr("rule leased: consistency: is leased, expected exact: a plan or override has"),
                          HasSubstr("rule synced: consistency: is synced, expected exact: a plan or override has"),
                          HasSubstr("rule hot: hot_keys: is lease, expected show: a plan or override has"),
                          HasSubstr("rule distinct: distinct: needs one window"),
                          HasSubstr("rule shared: region: is slices, expected none: a plan or override has")));
  ASSERT_TRUE(book_->set_overrides({set_limit(5'000, true, {"leased", "distinct"})}).ok());
  EXPECT_THAT(book_->misfits(),
              ElementsAre("override ovr_5000: rule distinct: limit: is 5000, expected at most 1000 with distinct"));
}

TEST_F(RuntimeOverridesTest, ATokenBucketThatIsLeasedMayHaveAnotherWindow) {
  Rule leased = rule_named("r");
  leased.consistency = Consistency::leased;
  load({.rules = {leased}});
  RuntimeOverride longer = set_limit(50);
  longer.change.change.window = 120s;
  ASSERT_TRUE(book_->set_overrides({longer}).ok());
  EXPECT_TRUE(book_->misfits().empty());
}

TEST_F(RuntimeOverridesTest, ARuleThatDoesNotExistIsNamedAndAppliesWhenItDoes) {
  load({.rules = {rule_named("r")}});
  ASSERT_TRUE(book_->set_overrides({set_limit(7, false, {"later"})}).ok());
  EXPECT_THAT(book_->misfits(), ElementsAre("override ovr_7: rule later: there is no such rule"));
  load({.rules = {rule_named("later")}});
  EXPECT_EQ(7, limit_for({{"tenant", "acme"}}));
  EXPECT_TRUE(book_->misfits().empty());
}

TEST_F(RuntimeOverridesTest, EndsAtItsTimeAlsoForPreparedChecks) {
  load({.rules = {rule_named("r")}});
  RuntimeOverride override = set_limit(400);
  override.change.until = clock_->wall() + 5s;
  ASSERT_TRUE(book_->set_overrides({override}).ok());
  const auto prepared = engine_->prepare({{"tenant", "acme"}});
  EXPECT_EQ(400, prepared->check(Cost{1}).rules[0].limit);
  clock_->advance(5s);
  EXPECT_EQ(100, prepared->check(Cost{1}).rules[0].limit);
  EXPECT_EQ(100, limit_for({{"tenant", "acme"}}));
}

TEST_F(RuntimeOverridesTest, TellsWhenItWasLastUsed) {
  load({.rules = {rule_named("r")}});
  const RuntimeOverride override = set_limit(400);
  ASSERT_TRUE(book_->set_overrides({override}).ok());
  clock_->advance(100s);
  limit_for({{"tenant", "other"}});
  EXPECT_EQ(std::nullopt, override.change.use->last_used());
  limit_for({{"tenant", "acme"}});
  EXPECT_EQ(clock_->wall(), override.change.use->last_used());
}

TEST_F(RuntimeOverridesTest, AModeAloneLeavesTheNumbersAndBindsOrReleasesTheRequest) {
  Rule rule = rule_named("r");
  rule.plans = {{"small", limit_of(1)}};
  load({.rules = {rule}});
  RuntimeOverride shadow;
  shadow.rules = {"*"};
  shadow.change.when = {{"tenant", {"acme"}}};
  shadow.change.mode = Mode::shadow;
  ASSERT_TRUE(book_->set_overrides({shadow}).ok());
  const std::vector<Attribute> request = {{"tenant", "acme"}, {"plan", "small"}};
  EXPECT_TRUE(engine_->check(Request(request)).allowed);
  const Decision second = engine_->check(Request(request));
  EXPECT_TRUE(second.allowed);
  EXPECT_FALSE(second.rules[0].allowed);
  EXPECT_EQ(Mode::shadow, second.rules[0].mode);
  EXPECT_EQ(1, second.rules[0].limit);
  const std::vector<Attribute> other = {{"tenant", "other"}, {"plan", "small"}};
  EXPECT_TRUE(engine_->check(Request(other)).allowed);
  EXPECT_FALSE(engine_->check(Request(other)).allowed);
}

TEST_F(RuntimeOverridesTest, ModeOffTakesTheRuleAwayAndEnforceBringsOneThatIsOffBack) {
  Rule off = rule_named("off");
  off.mode = Mode::off;
  load({.rules = {rule_named("r"), off}});
  RuntimeOverride change;
  change.change.when = {{"tenant", {"acme"}}};
  change.rules = {"r"};
  change.change.mode = Mode::off;
  RuntimeOverride back = change;
  back.rules = {"off"};
  back.change.mode = Mode::enforce;
  ASSERT_TRUE(book_->set_overrides({change, back}).ok());
  const Decision acme = engine_->check({{"tenant", "acme"}});
  ASSERT_EQ(1U, acme.rules.size());
  EXPECT_EQ("off", acme.rules[0].rule);
  const Decision other = engine_->check({{"tenant", "other"}});
  ASSERT_EQ(1U, other.rules.size());
  EXPECT_EQ("r", other.rules[0].rule);
}

TEST_F(RuntimeOverridesTest, UnlimitedLiftsEverythingForATenant) {
  load({.rules = {rule_named("r"), rule_named("s", Algorithm::sliding_log)}});
  RuntimeOverride lift;
  lift.rules = {"*"};
  lift.change.when = {{"tenant", {"acme"}}};
  lift.change.change.unlimited = true;
  lift.change.emergency = true;
  ASSERT_TRUE(book_->set_overrides({lift}).ok());
  EXPECT_TRUE(engine_->check(Request({{"tenant", "acme"}}, Cost{1'000'000})).allowed);
  EXPECT_FALSE(engine_->check(Request({{"tenant", "other"}}, Cost{1'000'000})).allowed);
}

TEST_F(RuntimeOverridesTest, WhatIsWrongWithOneByItselfIsSaid) {
  RuntimeOverride bad = set_limit(1, false, {"*", "r"});
  bad.change.change.unlimited = true;
  bad.change.when = {{"ip", {"10.0.0.0/77"}}};
  EXPECT_THAT(rules::check_alone(bad),
              ElementsAre(HasSubstr("rules: has \"*\""), HasSubstr("when.ip: is \"10.0.0.0/77\""),
                          HasSubstr("is unlimited and has numbers")));
  EXPECT_THAT(rules::check_alone(set_limit(1)), ElementsAre());
  RuntimeOverride nothing = set_limit(1);
  nothing.change.change = {};
  EXPECT_THAT(rules::check_alone(nothing), ElementsAre(HasSubstr("changes nothing, expected limit")));
  RuntimeOverride off = set_limit(1);
  off.change.mode = Mode::off;
  EXPECT_THAT(rules::check_alone(off), ElementsAre(HasSubstr("mode: is off and there are numbers")));
}

TEST_F(RuntimeOverridesTest, ATenantsRecordGivesThePlanThatTheRequestDoesNotName) {
  Rule rule = rule_named("r");
  rule.plans = {{"pro", limit_of(200)}, {"free", limit_of(10)}};
  Rule only_pro = rule_named("only-pro");
  only_pro.match = {{"plan", {"pro"}}};
  load({.rules = {rule, only_pro}});
  const auto prepared = engine_->prepare({{"tenant", "acme"}});
  EXPECT_EQ(100, prepared->check(Cost{1}).rules[0].limit);
  auto plans = std::make_shared<rules::PlanTable>();
  plans->set("acme", "pro");
  book_->set_plans(plans);
  EXPECT_EQ(200, limit_for({{"tenant", "acme"}}));
  EXPECT_EQ(2U, engine_->check({{"tenant", "acme"}}).rules.size());
  EXPECT_EQ(200, prepared->check(Cost{1}).rules[0].limit);
  EXPECT_EQ(10, limit_for({{"tenant", "acme"}, {"plan", "free"}})) << "the request's own plan comes first";
  EXPECT_EQ(100, limit_for({{"tenant", "other"}}));
  const std::vector<Attribute> acme = {{"tenant", "acme"}};
  const std::vector<Attribute> other = {{"tenant", "other"}};
  const std::vector<Request> requests = {Request(acme), Request(other), Request(acme)};
  std::vector<Decision> decisions(3);
  engine_->check_batch(requests, decisions);
  EXPECT_EQ(200, decisions[0].rules[0].limit);
  EXPECT_EQ(100, decisions[1].rules[0].limit);
  EXPECT_EQ(200, decisions[2].rules[0].limit);
  book_->set_plans(nullptr);
  EXPECT_EQ(100, limit_for({{"tenant", "acme"}}));
  EXPECT_EQ(100, prepared->check(Cost{1}).rules[0].limit);
}

}  // namespace
}  // namespace weir::engine
