// Leases through the engine: which rules give slots, handles, ids of clients, and what happens without the store.
#include "weir/leases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

Rule exports_active(std::int64_t limit = 3, Duration lease = 30s) {
  Rule rule;
  rule.id = "exports-active";
  rule.match = {{"action", {"export"}}};
  rule.per = {"tenant"};
  rule.kind = ChargeKind::lease;
  rule.allowance.limit = limit;
  rule.lease = lease;
  return rule;
}

Rule exports_rate(std::int64_t limit = 100) {
  Rule rule;
  rule.id = "exports-rate";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 60s};
  return rule;
}

// Answers `unavailable` while it is away.
class FlakyStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    if (!away) return memory.begin(call);
    call.status = Code::unavailable;
    return true;
  }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "flaky"; }
  bool away = false;
  memory::MemoryStore memory;
};

class LeasesTest : public testing::Test {
 protected:
  void load(const std::vector<Rule>& rules) {
    auto book = std::make_shared<rules::RuleBook>();
    Rules all;
    all.rules = rules;
    const Status loaded = book->replace(all);
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
    engine_ = make(book, {1, 2, 3});
  }
  std::unique_ptr<Engine> make(const std::shared_ptr<rules::RuleBook>& book, HashKey key) {
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = key;
    return std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>());
  }

  LeaseAnswer acquire(std::string_view tenant, std::string_view id = "", Duration ttl = 0s, std::int64_t cost = 1) {
    const std::array<Attribute, 2> attributes{Attribute{"tenant", tenant}, Attribute{"action", "export"}};
    LeaseQuestion question;
    question.request = Request(attributes, {cost});
    question.id = id;
    question.ttl = ttl;
    question.caller = "worker";
    return engine_->leases()->acquire(question);
  }
  LeaseAnswer list(std::string_view tenant) {
    const std::array<Attribute, 2> attributes{Attribute{"tenant", tenant}, Attribute{"action", "export"}};
    LeaseQuestion question;
    question.verb = LeaseQuestion::Verb::list;
    question.request = Request(attributes);
    return engine_->leases()->ask(question);
  }
  Decision check(std::string_view tenant) { return engine_->check({{"tenant", tenant}, {"action", "export"}}); }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<FlakyStore> store_ = std::make_shared<FlakyStore>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(LeasesTest, ThreeExportsAtATimeAndEachTenantForItself) {
  load({exports_active(), exports_rate()});
  std::vector<LeaseAnswer> held;
  for (int i = 0; i < 3; ++i) held.push_back(acquire("acme"));
  EXPECT_TRUE(held[0].created);
  EXPECT_EQ(held[0].ttl, 30s);
  EXPECT_EQ(held[0].expires, clock_->now() + 30s);
  EXPECT_LT(held[0].fencing_token.value(), held[1].fencing_token.value());
  EXPECT_EQ(held[2].decision.rules[0].remaining, 0);
  EXPECT_EQ(held[2].decision.rules[0].kind, ChargeKind::lease);
  EXPECT_FALSE(held[2].decision.rules[0].algorithm);

  const LeaseAnswer denied = acquire("acme");
  EXPECT_EQ(denied.fault, HoldFault::none);
  EXPECT_FALSE(denied.decision.allowed);
  EXPECT_EQ(denied.decision.reason, Reason::concurrency_exceeded);
  EXPECT_EQ(denied.decision.retry_after, 1s);
  EXPECT_TRUE(denied.handle.empty());
  EXPECT_EQ(denied.decision.rules[1].remaining, 97) << "a denied lease charges no other rule";
  EXPECT_TRUE(acquire("other").decision.allowed);

  EXPECT_EQ(engine_->leases()->release(held[1].handle).fault, HoldFault::none);
  EXPECT_EQ(engine_->leases()->release(held[1].handle).fault, HoldFault::none);
  EXPECT_TRUE(acquire("acme").decision.allowed);
}

TEST_F(LeasesTest, APlainCheckLooksAtConcurrencyRulesAndTakesNoSlot) {
  load({exports_active(1), exports_rate()});
  EXPECT_TRUE(check("acme").allowed);
  const Decision second = check("acme");
  EXPECT_TRUE(second.allowed);
  EXPECT_EQ(second.rules[0].remaining, 1);
  acquire("acme");
  const Decision denied = check("acme");
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.reason, Reason::concurrency_exceeded);
  EXPECT_EQ(denied.decisive()->rule, "exports-active");
}

TEST_F(LeasesTest, ALimitOfZeroGivesNoLease) {
  load({exports_active(0)});
  const LeaseAnswer denied = acquire("acme");
  EXPECT_EQ(denied.decision.reason, Reason::concurrency_exceeded);
  EXPECT_EQ(denied.decision.retry_after, 0s);
}

TEST_F(LeasesTest, ACostAboveTheLimitCanNeverFit) {
  load({exports_active(3)});
  EXPECT_EQ(acquire("acme", "", 0s, 4).decision.reason, Reason::cost_too_large);
  EXPECT_EQ(acquire("acme", "", 0s, 3).decision.rules[0].remaining, 0);
}

TEST_F(LeasesTest, RenewingKeepsASlotAndGivesABetterHandle) {
  load({exports_active(1)});
  LeaseAnswer lease = acquire("acme");
  for (int i = 0; i < 4; ++i) {
    clock_->advance(29s);
    const LeaseAnswer renewed = engine_->leases()->renew(lease.handle);
    ASSERT_EQ(renewed.fault, HoldFault::none) << renewed.message;
    EXPECT_EQ(renewed.expires, clock_->now() + 30s);
    EXPECT_EQ(renewed.fencing_token, lease.fencing_token);
    EXPECT_EQ(renewed.decision.rules[0].rule, "exports-active");
    EXPECT_EQ(renewed.decision.rules[0].remaining, 0);
    lease.handle = renewed.handle;
  }
  EXPECT_EQ(engine_->leases()->renew(lease.handle, 5s).ttl, 5s);
  clock_->advance(5s);
  const LeaseAnswer gone = engine_->leases()->renew(lease.handle);
  EXPECT_EQ(gone.fault, HoldFault::gone);
  EXPECT_NE(gone.message.find("acquire another"), std::string::npos);
  EXPECT_TRUE(acquire("acme").decision.allowed);
}

TEST_F(LeasesTest, TheFirstHandleStaysGoodAfterRenewals) {
  load({exports_active(1)});
  const LeaseAnswer lease = acquire("acme");
  clock_->advance(20s);
  engine_->leases()->renew(lease.handle);
  clock_->advance(20s);
  EXPECT_EQ(engine_->leases()->renew(lease.handle).fault, HoldFault::none);
  engine_->leases()->release(lease.handle);
  EXPECT_TRUE(acquire("acme").decision.allowed);
}

TEST_F(LeasesTest, AnyNodeWithTheSameKeyCanReleaseAndNoOther) {
  load({exports_active(1)});
  const LeaseAnswer lease = acquire("acme");
  const auto other_rules = std::make_shared<rules::RuleBook>();  // has never seen the rule
  const auto same_key = make(other_rules, {1, 2, 3});
  const auto other_key = make(other_rules, {1, 2, 4});
  EXPECT_EQ(other_key->leases()->release(lease.handle).fault, HoldFault::forged);
  EXPECT_EQ(other_key->leases()->renew(lease.handle).fault, HoldFault::forged);
  EXPECT_EQ(other_key->forged_handles(), 2u);
  EXPECT_EQ(same_key->leases()->renew(lease.handle).fault, HoldFault::none);
  EXPECT_EQ(same_key->leases()->release(lease.handle).fault, HoldFault::none);
  EXPECT_TRUE(acquire("acme").decision.allowed);
}

TEST_F(LeasesTest, ForgedHandlesAreRefusedAndCounted) {
  load({exports_active(1)});
  const std::string handle = acquire("acme").handle;
  std::string changed = handle;
  changed[30] = changed[30] == 'A' ? 'B' : 'A';
  for (const std::string& forged : {std::string(), std::string("x"), changed, std::string(10'000, 'A')}) {
    EXPECT_EQ(engine_->leases()->release(forged).fault, HoldFault::forged);
    EXPECT_EQ(engine_->leases()->renew(forged).fault, HoldFault::forged);
  }
  EXPECT_EQ(engine_->forged_handles(), 8u);
  EXPECT_FALSE(acquire("acme").decision.allowed) << "nothing has changed";
}

TEST_F(LeasesTest, AClientsIdHasOneLeasePerCallerAndSubject) {
  load({exports_active(3), exports_rate()});
  const LeaseAnswer first = acquire("acme", "job-7");
  const LeaseAnswer again = acquire("acme", "job-7");
  EXPECT_TRUE(first.created);
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.fencing_token, first.fencing_token);
  EXPECT_EQ(again.expires, first.expires);
  EXPECT_EQ(again.decision.rules[0].remaining, 2);
  EXPECT_EQ(again.decision.rules[1].remaining, 99) << "charged once";
  EXPECT_TRUE(acquire("other", "job-7").created) << "of another tenant";

  engine_->leases()->release(again.handle);
  const LeaseAnswer gone = acquire("acme", "job-7");
  EXPECT_EQ(gone.fault, HoldFault::gone);
  EXPECT_NE(gone.message.find("another id"), std::string::npos);
  EXPECT_EQ(check("acme").rules[0].remaining, 3);
  clock_->advance(30s);
  EXPECT_TRUE(acquire("acme", "job-7").created);
}

TEST_F(LeasesTest, TheOrderOfAttributesMakesNoOtherIdAndTheCallerDoes) {
  load({exports_active(5)});
  const std::array<Attribute, 2> one{Attribute{"tenant", "acme"}, Attribute{"action", "export"}};
  const std::array<Attribute, 2> turned{Attribute{"action", "export"}, Attribute{"tenant", "acme"}};
  const auto created = [&](std::span<const Attribute> attributes, std::string_view caller) {
    LeaseQuestion question;
    question.request = Request(attributes);
    question.id = "job";
    question.caller = caller;
    return engine_->leases()->acquire(question).created;
  };
  EXPECT_TRUE(created(one, "a"));
  EXPECT_FALSE(created(turned, "a"));
  EXPECT_TRUE(created(one, "b"));
}

TEST_F(LeasesTest, BadInputIsNamedAndChangesNothing) {
  load({exports_active(1)});
  const std::string year = acquire("acme", "", 365 * 24h).message;
  EXPECT_EQ(year, "ttl: is 31536000000 ms, expected 10 ms to 86400000 ms");
  EXPECT_EQ(acquire("acme", "", -1s).fault, HoldFault::invalid);
  EXPECT_EQ(acquire("acme", std::string(10'240, 'x')).message, "id: has 10240 bytes, expected at most 256");
  EXPECT_EQ(acquire("acme", std::string_view("job\0a", 5)).message, "id: must not contain NUL");
  EXPECT_EQ(acquire("acme", "", 0s, -1).decision.reason, Reason::cost_too_large);
  EXPECT_EQ(acquire("acme", "", 0s, std::numeric_limits<std::int64_t>::max()).decision.reason, Reason::cost_too_large);
  const LeaseAnswer lease = acquire("acme");
  EXPECT_EQ(engine_->leases()->renew(lease.handle, 365 * 24h).fault, HoldFault::invalid);
  EXPECT_EQ(lease.decision.rules[0].remaining, 0) << "the first lease that was given";
}

TEST_F(LeasesTest, TheTtlIsTheShortestOfTheRulesUnlessTheCallerSaysOtherwise) {
  Rule all = exports_active(9, 10s);
  all.id = "exports-all";
  all.per = {};
  load({exports_active(), all});
  EXPECT_EQ(acquire("acme").ttl, 10s);
  EXPECT_EQ(acquire("acme", "", 45s).ttl, 45s);
}

TEST_F(LeasesTest, ARequestThatNoConcurrencyRuleCountsHoldsNoSlot) {
  load({exports_rate(1)});
  const LeaseAnswer lease = acquire("acme");
  EXPECT_TRUE(lease.decision.allowed);
  EXPECT_FALSE(lease.fencing_token);
  EXPECT_EQ(engine_->leases()->renew(lease.handle).fault, HoldFault::none);
  EXPECT_EQ(engine_->leases()->release(lease.handle).fault, HoldFault::none);
  EXPECT_EQ(acquire("acme").decision.reason, Reason::limit_exceeded);
}

TEST_F(LeasesTest, WithoutTheStoreThePolicyAnswersAndNoTokenIsGiven) {
  Rule denying = exports_active();
  denying.on_store_failure = FailurePolicy::deny;
  load({exports_active(1)});
  store_->away = true;
  const LeaseAnswer lease = acquire("acme");
  EXPECT_TRUE(lease.decision.allowed);
  EXPECT_TRUE(lease.decision.degraded);
  EXPECT_FALSE(lease.fencing_token);
  EXPECT_EQ(lease.expires, clock_->now() + 30s);
  EXPECT_EQ(engine_->leases()->release(lease.handle).fault, HoldFault::unavailable);
  EXPECT_EQ(engine_->leases()->renew(lease.handle).fault, HoldFault::unavailable);

  store_->away = false;
  const LeaseAnswer renewed = engine_->leases()->renew(lease.handle);
  EXPECT_EQ(renewed.fault, HoldFault::none) << "it takes a free slot";
  EXPECT_TRUE(renewed.fencing_token);
  EXPECT_FALSE(acquire("acme").decision.allowed);
  EXPECT_EQ(engine_->leases()->release(renewed.handle).fault, HoldFault::none);

  load({denying});
  store_->away = true;
  EXPECT_EQ(acquire("acme").decision.reason, Reason::store_unavailable);
}

TEST_F(LeasesTest, ALeaseGivenWithoutTheStoreIsGoneIfItsSlotIsTaken) {
  load({exports_active(1)});
  store_->away = true;
  const LeaseAnswer promised = acquire("acme");
  store_->away = false;
  ASSERT_TRUE(acquire("acme").decision.allowed);
  EXPECT_EQ(engine_->leases()->renew(promised.handle).fault, HoldFault::gone);
}

TEST_F(LeasesTest, ListsTheLeasesOfASubjectWithHandlesToReleaseThem) {
  load({exports_active(3), exports_rate()});
  acquire("acme", "", 10s);
  acquire("acme", "job-7", 20s, 2);
  acquire("other");
  LeaseAnswer listed = list("acme");
  ASSERT_EQ(listed.list.size(), 2u);
  EXPECT_FALSE(listed.list_cut);
  if (listed.list[0].units == 2) std::swap(listed.list[0], listed.list[1]);
  EXPECT_EQ(listed.list[0].rule, "exports-active");
  EXPECT_EQ(listed.list[0].expires, clock_->now() + 10s);
  EXPECT_EQ(listed.list[1].units, 2);
  EXPECT_EQ(engine_->leases()->release(listed.list[1].handle).fault, HoldFault::none);
  EXPECT_EQ(list("acme").list.size(), 1u);
  EXPECT_EQ(check("acme").rules[0].remaining, 2);
}

TEST_F(LeasesTest, AListedHandleReleasesTheLeaseUnderEveryRuleThatIsListed) {
  Rule all = exports_active(5);
  all.id = "all-active";
  all.per = {"action"};
  load({exports_active(3), all, exports_rate()});
  const LeaseAnswer mine = acquire("acme");
  acquire("other");
  const LeaseAnswer listed = list("acme");
  ASSERT_EQ(listed.list.size(), 3u) << "the other's lease has a slot of the second rule";
  const auto is_first = [](const ListedLease& each) { return each.rule == "exports-active"; };
  const auto first = std::find_if(listed.list.begin(), listed.list.end(), is_first);
  ASSERT_NE(first, listed.list.end());
  EXPECT_EQ(engine_->leases()->release(first->handle).fault, HoldFault::none);
  EXPECT_EQ(check("acme").rules[0].remaining, 3);
  EXPECT_EQ(check("acme").rules[1].remaining, 4) << "only the other's is held";
  EXPECT_EQ(engine_->leases()->renew(mine.handle).fault, HoldFault::gone);
}

TEST_F(LeasesTest, ALeaseThatTheStoreLostIsRenewedUnderThePresentLimit) {
  load({exports_active(3)});
  const LeaseAnswer first = acquire("acme");
  const LeaseAnswer second = acquire("acme");
  Rules lower;
  lower.rules = {exports_active(1)};
  ASSERT_TRUE(engine_->replace(lower).ok());
  EXPECT_EQ(engine_->leases()->renew(second.handle).fault, HoldFault::none) << "a lower limit takes no lease away";
  clock_->advance(1s);
  store_->memory.clear();
  EXPECT_EQ(engine_->leases()->renew(first.handle).fault, HoldFault::none);
  EXPECT_EQ(engine_->leases()->renew(second.handle).fault, HoldFault::gone) << "there is one slot now";
}

TEST_F(LeasesTest, AfterTheClockWasSetBackExpiriesAreToldByTheWallClock) {
  load({exports_active(1)});
  clock_->set_ahead(1h);
  const LeaseAnswer lease = acquire("acme");
  EXPECT_EQ(lease.expires, clock_->now() - 1h + 30s);
  EXPECT_EQ(lease.ttl, 30s);
  EXPECT_EQ(engine_->leases()->renew(lease.handle).fault, HoldFault::none);
}

}  // namespace
}  // namespace weir::engine
