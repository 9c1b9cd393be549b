// Who is counted: which requests share a bucket, and which buckets share a slot of a cluster.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

Rule rule_of(std::string id) {
  Rule rule;
  rule.id = std::move(id);
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = 8, .window = 60s};
  return rule;
}

// Remembers what it is asked to charge, and admits it.
class TaggedStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    charges.insert(charges.end(), call.charges.begin(), call.charges.end());
    return true;
  }
  bool immediate() const override { return true; }
  bool uses_tags() const override { return true; }
  std::string_view name() const override { return "tagged"; }
  std::vector<Charge> charges;
};

class SubjectTest : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> engine_with(const Rules& rules) {
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace(rules).ok());
    LimiterOptions options;
    options.store = store_;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {1, 2, 3};
    return std::make_unique<Engine>(book, options,
                                    std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22}));
  }

  std::shared_ptr<TaggedStore> store_ = std::make_shared<TaggedStore>();
};

TEST_F(SubjectTest, AClusterTagNeverSplitsABucket) {
  Rule by_tenant = rule_of("by-tenant");
  Rule by_tenant_user = rule_of("by-tenant-user");
  by_tenant_user.per = {"tenant", "user"};
  Rule by_ip = rule_of("by-ip");
  by_ip.per = {"ip"};
  const auto engine = engine_with({.rules = {by_tenant, by_tenant_user, by_ip}});
  engine->check({{"tenant", "a"}, {"user", "u"}, {"ip", "192.0.2.1"}});
  engine->check({{"tenant", "b"}, {"user", "u"}, {"ip", "192.0.2.1"}});
  ASSERT_EQ(6u, store_->charges.size());
  EXPECT_EQ(store_->charges[0].tag, store_->charges[1].tag) << "one tenant's buckets share a slot";
  EXPECT_NE(store_->charges[0].tag, store_->charges[3].tag);
  EXPECT_EQ(store_->charges[2].key, store_->charges[5].key);
  EXPECT_EQ(store_->charges[2].tag, store_->charges[5].tag) << "a rule per address is one bucket, whatever the tenant";
}

TEST_F(SubjectTest, HashTagSubjectPutsEverySubjectInASlotOfItsOwn) {
  Rule rule = rule_of("by-tenant-user");
  rule.per = {"tenant", "user"};
  rule.hash_tag = HashTag::subject;
  const auto engine = engine_with({.rules = {rule}});
  engine->check({{"tenant", "a"}, {"user", "u"}});
  engine->check({{"tenant", "a"}, {"user", "v"}});
  ASSERT_EQ(2u, store_->charges.size());
  EXPECT_EQ(store_->charges[0].tag, store_->charges[0].key);
  EXPECT_NE(store_->charges[0].tag, store_->charges[1].tag) << "by tenant they would share one";
}

TEST_F(SubjectTest, EveryValueOfARepeatedAttributeIsPartOfTheSubject) {
  const auto engine = engine_with({.rules = {rule_of("by-tenant")}});
  engine->check({{"tenant", "a"}, {"tenant", "b"}});
  engine->check({{"tenant", "a"}, {"tenant", "c"}});
  engine->check({{"tenant", "a"}});
  engine->check({{"tenant", "b"}, {"tenant", "a"}});
  engine->check({{"tenant", "a"}, {"x", "y"}, {"tenant", "b"}});
  ASSERT_EQ(5u, store_->charges.size());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(store_->charges[0].key, store_->charges[i].key) << i;
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(store_->charges[0].tag, store_->charges[i].tag) << i;
  EXPECT_EQ(store_->charges[0].key, store_->charges[4].key) << "whatever is between them";
}

TEST_F(SubjectTest, AlternativesNeverShareABucket) {
  Rule rule = rule_of("by-key-or-ip");
  rule.per = {"tenant", "api_key|ip"};
  const auto engine = engine_with({.rules = {rule}});
  engine->check({{"tenant", "t"}, {"api_key", "x"}});
  engine->check({{"tenant", "t"}, {"ip", "x"}});
  engine->check({{"tenant", "t"}, {"ip", "y"}, {"api_key", "x"}});
  engine->check({{"tenant", "t"}, {"tenant", "ip"}, {"api_key", "x"}});
  engine->check({{"tenant", "t"}, {"ip", "ip"}, {"ip", "x"}});
  engine->check({{"tenant", "t"}, {"tenant", "x"}, {"api_key", "y"}});
  engine->check({{"tenant", "t"}, {"api_key", "x"}, {"api_key", "y"}});
  ASSERT_EQ(7u, store_->charges.size());
  EXPECT_EQ(store_->charges[0].key, store_->charges[2].key) << "the address is not counted beside a key";
  for (const std::size_t i : {0, 1, 3, 4, 5, 6}) {
    for (const std::size_t j : {0, 1, 3, 4, 5, 6}) {
      EXPECT_EQ(store_->charges[i].key == store_->charges[j].key, i == j) << i << " " << j;
    }
  }
}

TEST_F(SubjectTest, AlternativesAreTaggedByTheTenantOnlyWhereItIsCounted) {
  Rule tenant_first = rule_of("tenant-first");
  tenant_first.per = {"tenant|ip"};
  Rule user_first = rule_of("user-first");
  user_first.per = {"user|tenant"};
  const auto engine = engine_with({.rules = {rule_of("by-tenant"), tenant_first, user_first}});
  engine->check({{"tenant", "t"}, {"user", "u"}, {"ip", "i"}});
  ASSERT_EQ(3u, store_->charges.size());
  EXPECT_EQ(store_->charges[1].tag, store_->charges[0].tag);
  EXPECT_EQ(store_->charges[2].tag, store_->charges[2].key) << "one bucket for the user, whatever the tenant";
  engine->check({{"tenant", "t"}});
  ASSERT_EQ(6u, store_->charges.size());
  EXPECT_EQ(store_->charges[5].tag, store_->charges[0].tag);
  engine->check({{"ip", "i"}});
  ASSERT_EQ(7u, store_->charges.size());
  EXPECT_EQ(store_->charges[6].tag, store_->charges[6].key);
}

TEST_F(SubjectTest, ABucketIsTheSameWhateverOtherRulesApply) {
  std::vector<Rule> rules;
  for (int i = 0; i < 6; ++i) rules.push_back(rule_of("rule-" + std::to_string(i)));
  rules[1].per = {"tenant", "user"};
  rules[2].per = {"tenant", "user"};
  rules[3].per = {"user|ip"};
  rules[4].per = {"tenant", "user"};
  rules[5].per = {};
  for (const std::string& user : {std::string(), std::string("bob"), std::string(4096, 'w')}) {
    const std::vector<Attribute> attributes = {{"user", user}, {"tenant", "acme"}, {"user", "12345678"}};
    store_->charges.clear();
    static_cast<void>(engine_with({.rules = rules})->check(Request(attributes)));
    const std::vector<Charge> together = std::exchange(store_->charges, {});
    ASSERT_EQ(rules.size(), together.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
      static_cast<void>(engine_with({.rules = {rules[i]}})->check(Request(attributes)));
      EXPECT_EQ(together[i].key, store_->charges.back().key) << rules[i].id << ", " << user.size() << " bytes";
    }
  }
}

}  // namespace
}  // namespace weir::engine
