// What operators set on top of the rules, and who is told when something is loaded.
#include <gtest/gtest.h>

#include "rules/rule_book.h"

namespace weir::rules {
namespace {

const char kOne[] = "version: 1\nrules: [{id: one, limit: 1, window: 1s}]\n";
const char kTwo[] = "version: 1\nrules: [{id: two, limit: 1, window: 1s}]\n";
const char kBlocks[] =
    "version: 1\nrules: [{id: one, limit: 1, window: 1s}]\n"
    "blocks: [{when: {ip: 192.0.2.1}, reason: first}, {when: {ip: 192.0.2.2}}]\n";

Block block_of(const std::string& tenant, const char* id) {
  return {.when = {{"tenant", {tenant}}}, .use = std::make_shared<UseMark>(id)};
}

std::string blocked_by(const RuleBook& book, std::string_view name, std::string_view value) {
  const std::shared_ptr<const Intake> intake = book.loaded().intake;
  if (intake == nullptr || intake->blocks == nullptr) return "nothing";
  const Attribute attributes[] = {{name, value}};
  const Block* const found = intake->blocks->find(Request(attributes), TimePoint{});
  return found == nullptr ? "nothing" : found->use->id();
}

class RuleBookOperators : public testing::Test {
 protected:
  void load(const char* text) { ASSERT_TRUE(book_.replace_texts({{"a", text}}, "a").ok()); }
  std::string by_tenant(std::string_view tenant) const { return blocked_by(book_, "tenant", tenant); }
  std::string by_ip(std::string_view ip) const { return blocked_by(book_, "ip", ip); }

  RuleBook book_;
};

TEST_F(RuleBookOperators, BlocksThatAreSetComeBesideThoseOfTheRules) {
  load(kBlocks);
  EXPECT_EQ(by_ip("192.0.2.1"), "file-1");
  EXPECT_EQ(by_ip("192.0.2.2"), "file-2");
  const std::uint64_t version = book_.version();
  ASSERT_TRUE(book_.set_blocks({block_of("acme", "b1"), block_of("evil", "b2")}).ok());
  EXPECT_EQ(book_.version(), version + 1);
  EXPECT_EQ(by_tenant("acme"), "b1");
  EXPECT_EQ(by_ip("192.0.2.2"), "file-2");
  ASSERT_TRUE(book_.set_blocks({block_of("acme", "b3")}).ok());
  EXPECT_EQ(by_tenant("acme"), "b3");
  EXPECT_EQ(by_tenant("evil"), "nothing");
  load(kOne);
  EXPECT_EQ(by_ip("192.0.2.1"), "nothing");
  EXPECT_EQ(by_tenant("acme"), "b3") << "other rules keep what operators have set";
  ASSERT_TRUE(book_.set_blocks({}).ok());
  EXPECT_EQ(book_.loaded().intake, nullptr);
}

TEST_F(RuleBookOperators, NoBlocksInPlaceOfNoneAreNoNewVersion) {
  load(kOne);
  const std::uint64_t version = book_.version();
  ASSERT_TRUE(book_.set_blocks({}).ok());
  ASSERT_TRUE(book_.set_overrides({}).ok());
  book_.set_plans(nullptr);
  book_.set_plans(std::make_shared<PlanTable>());
  EXPECT_EQ(book_.version(), version);
}

TEST_F(RuleBookOperators, SingleBlocksAreAddedReplacedAndRemoved) {
  load(kBlocks);
  EXPECT_FALSE(book_.takes_block_changes(1)) << "none were set";
  ASSERT_TRUE(book_.set_blocks({block_of("acme", "b1"), block_of("evil", "b2")}).ok());
  ASSERT_TRUE(book_.takes_block_changes(1));
  ASSERT_TRUE(book_.change_blocks({{"b1", std::nullopt}, {"b3", block_of("new", "b3")}}).ok());
  EXPECT_EQ(by_tenant("acme"), "nothing");
  EXPECT_EQ(by_tenant("evil"), "b2");
  EXPECT_EQ(by_tenant("new"), "b3");
  EXPECT_EQ(by_ip("192.0.2.1"), "file-1");
  ASSERT_TRUE(book_.change_blocks({{"b2", block_of("other", "b2")}}).ok());
  EXPECT_EQ(by_tenant("acme"), "nothing") << "earlier changes stay";
  EXPECT_EQ(by_tenant("evil"), "nothing");
  EXPECT_EQ(by_tenant("other"), "b2");
  EXPECT_EQ(by_tenant("new"), "b3");
  EXPECT_FALSE(book_.change_blocks({{"b4", Block{.when = {{"ip", {"192.0.2.0/33"}}}}}}).ok());
  EXPECT_EQ(by_tenant("other"), "b2") << "a failure changes nothing";
}

TEST_F(RuleBookOperators, AThousandBlocksMayChangeBeforeAllAreSetAgain) {
  load(kOne);
  ASSERT_TRUE(book_.set_blocks({block_of("acme", "b")}).ok());
  EXPECT_TRUE(book_.takes_block_changes(1'000));
  EXPECT_FALSE(book_.takes_block_changes(1'001));
  ASSERT_TRUE(book_.change_blocks({{"c", block_of("c", "c")}, {"d", block_of("d", "d")}}).ok());
  EXPECT_TRUE(book_.takes_block_changes(998));
  EXPECT_FALSE(book_.takes_block_changes(999));
  ASSERT_TRUE(book_.set_blocks({block_of("acme", "b")}).ok());
  EXPECT_TRUE(book_.takes_block_changes(1'000));
}

TEST_F(RuleBookOperators, ABlockOfTheRulesKeepsItsMarkWhileItStaysTheSame) {
  load(kBlocks);
  const auto mark_of = [&](const char* ip) {
    const Attribute attributes[] = {{"ip", ip}};
    return book_.loaded().intake->blocks->find(Request(attributes), TimePoint{})->use;
  };
  const auto first = mark_of("192.0.2.1"), second = mark_of("192.0.2.2");
  load(
      "version: 1\nrules: []\nblocks: [{when: {ip: 192.0.2.1}, reason: first}, {when: {ip: 192.0.2.2}, reason: "
      "new}]\n");
  EXPECT_EQ(mark_of("192.0.2.1"), first);
  EXPECT_NE(mark_of("192.0.2.2"), second) << "it has another reason";
  load("version: 1\nrules: []\nblocks: [{when: {ip: 192.0.2.1}, reason: first, until: 2100-01-01T00:00:00Z}]\n");
  EXPECT_NE(mark_of("192.0.2.1"), first) << "it ends";
}

TEST_F(RuleBookOperators, PlansOfTenantsComeAndGoBesideBlocks) {
  load(kBlocks);
  auto plans = std::make_shared<PlanTable>();
  plans->set("acme", "pro");
  book_.set_plans(plans);
  EXPECT_EQ(*book_.loaded().intake->plans->find("acme"), "pro");
  EXPECT_EQ(book_.loaded().intake->plans->find("other"), nullptr);
  EXPECT_EQ(by_ip("192.0.2.1"), "file-1");
  load(kOne);
  EXPECT_EQ(book_.loaded().intake->blocks, nullptr);
  EXPECT_EQ(*book_.loaded().intake->plans->find("acme"), "pro") << "they stay with other rules";
  book_.set_plans(nullptr);
  EXPECT_EQ(book_.loaded().intake, nullptr);
}

TEST_F(RuleBookOperators, ARequestWithoutAPlanGetsItsTenants) {
  PlanTable plans;
  plans.set("acme", "pro");
  const auto plan_of = [&](std::vector<Attribute> attributes, std::size_t* derived = nullptr) {
    CompletedRequest completed;
    Request request(attributes);
    request.derived = 1;
    const Request& made = completed.complete(request, plans);
    if (derived != nullptr) *derived = made.derived;
    std::string plan;
    for (const Attribute& each : made.attributes)
      plan += each.name == "plan" ? "[" + std::string(each.value) + "]" : "";
    return plan + (&made == &request ? " as it was" : " completed");
  };
  std::size_t derived = 0;
  EXPECT_EQ(plan_of({{"tenant", "acme"}, {"a", "b"}}, &derived), "[pro] completed");
  EXPECT_EQ(derived, 2U) << "the plan is not of the client";
  EXPECT_EQ(plan_of({{"tenant", "acme"}, {"plan", "free"}}, &derived), "[free] as it was");
  EXPECT_EQ(derived, 1U);
  EXPECT_EQ(plan_of({{"plan", "free"}, {"tenant", "acme"}}), "[free] as it was");
  EXPECT_EQ(plan_of({{"tenant", "other"}}), " as it was");
  EXPECT_EQ(plan_of({{"tenant", "other"}, {"tenant", "acme"}}), "[pro] completed");
  EXPECT_EQ(plan_of({{"user", "acme"}}), " as it was");
  std::vector<Attribute> many(kMaxAttributes - 1, Attribute{"a", "b"});
  many.front() = {"tenant", "acme"};
  EXPECT_EQ(plan_of(many), "[pro] completed");
  many.push_back({"a", "b"});
  EXPECT_EQ(plan_of(many), " as it was") << "there is no room";
}

TEST_F(RuleBookOperators, OnlyRulesThatAllChecksAcceptAreLoaded) {
  const auto refuse = [](const char* id) {
    return [id](const Rules& rules) -> Status {
      for (const Rule& rule : rules.rules) {
        if (rule.id == id) return Failure{Code::failed_precondition, std::string("no ") + id};
      }
      return success();
    };
  };
  book_.accept_only(refuse("one"));
  book_.accept_only(refuse("two"));
  EXPECT_EQ(book_.replace_texts({{"a", kOne}}, "a").failure().message, "no one");
  EXPECT_EQ(book_.replace_texts({{"a", kTwo}}, "a").failure().message, "no two");
  EXPECT_EQ(book_.base(), nullptr);
  load("version: 1\nrules: [{id: three, limit: 1, window: 1s}]\n");
  EXPECT_EQ(book_.base()->source, "a");
}

TEST_F(RuleBookOperators, UsersPrepareWhatWillBeLoadedBeforeItIs) {
  struct Noting final : RulesUser {
    void prepare(const LoadedRules& loaded, std::uint64_t version) override {
      noted.push_back(std::to_string(version) + ": " + std::to_string(loaded.set->rules().size()) +
                      (loaded.intake == nullptr ? "" : " with intake"));
    }
    std::vector<std::string> noted;
  } user;
  book_.add_user(user);
  load(kOne);
  EXPECT_EQ(book_.version(), 1U);
  ASSERT_TRUE(book_.set_blocks({block_of("acme", "b")}).ok());
  EXPECT_FALSE(book_.replace_texts({{"a", "nonsense"}}, "a").ok());
  load(kTwo);
  EXPECT_EQ(user.noted, (std::vector<std::string>{"1: 1", "2: 1 with intake", "3: 1 with intake"}));
  book_.remove_user(user);
  load(kOne);
  EXPECT_EQ(user.noted.size(), 3U);
}

TEST_F(RuleBookOperators, ReplacedRulesAndBlocksAreKeptUntilNoOneUsesThem) {
  book_.keep_replaced();
  load(kOne);
  book_.release_unused();
  std::shared_ptr<const RuleSet> used = book_.current();
  load(kTwo);
  load(kOne);
  EXPECT_EQ(book_.take_unused().size(), 1U) << "the second; the first is in use";
  ASSERT_TRUE(book_.set_blocks({block_of("a", "a")}).ok());
  ASSERT_TRUE(book_.set_blocks({block_of("b", "b")}).ok());
  EXPECT_EQ(book_.take_unused().size(), 1U) << "the first blocks";
  used.reset();
  EXPECT_EQ(book_.take_unused().size(), 1U);
  EXPECT_EQ(book_.take_unused().size(), 0U);
}

}  // namespace
}  // namespace weir::rules
