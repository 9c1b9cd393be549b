#include "engine/stages/shedding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "weir/prepared_check.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// 1,000 requests a second: the bucket holds 100, so one request is 1 % of the load.
Shedding four_classes() {
  Shedding shedding;
  shedding.rate = 1'000;
  shedding.classes = {{.name = "critical", .match = {{"action", {"pay"}}}},
                      {.name = "write", .match = {{"method", {"POST"}}}, .shed_at = 90},
                      {.name = "test", .match = {{"mode", {"test"}}}, .shed_at = 70},
                      {.name = "read", .match = {}, .shed_at = 80}};
  return shedding;
}

class SheddingTest : public ::testing::Test {
 protected:
  void use(const Shedding& shedding, std::vector<Rule> rules = {}) {
    auto book = std::make_shared<rules::RuleBook>();
    const Status loaded = book->replace({.rules = std::move(rules), .shedding = shedding});
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
    LimiterOptions options;
    options.store = memory_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    options.observers = {seen_};
    engine_ = std::make_unique<Engine>(book, options, memory_, SharedState{.shedder = shedder_});
  }

  Decision pay() { return engine_->check({{"action", "pay"}, {"tenant", "bank"}}); }
  Decision write(std::string_view tenant = "t") { return engine_->check({{"method", "POST"}, {"tenant", tenant}}); }
  Decision test(std::string_view tenant = "t") { return engine_->check({{"mode", "test"}, {"tenant", tenant}}); }
  Decision read(std::string_view tenant = "t") { return engine_->check({{"tenant", tenant}}); }
  // With requests that are never refused.
  void fill_to(std::int64_t percent) {
    while (true) {
      static_cast<void>(engine_->check({{"action", "pay"}, {"tenant", "bank"}, {"fill", "yes"}}));
      if (shedder_->load() >= (percent - 1) * 10) break;
    }
  }
  Shedder::ClassCount count_of(std::string_view name) const {
    for (const Shedder::ClassCount& each : shedder_->counts()) {
      if (each.name == name) return each;
    }
    return {};
  }

  struct Seen final : Observer {
    void on_decision(const Decision& decision) override { reasons.push_back(decision.reason); }
    std::vector<Reason> reasons;
  };

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<memory::MemoryStore> memory_ = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  std::shared_ptr<Shedder> shedder_ = std::make_shared<Shedder>(7);
  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(SheddingTest, EachClassIsRefusedFromItsOwnThresholdOnAndCriticalNever) {
  use(four_classes());
  fill_to(69);
  EXPECT_TRUE(test().allowed) << "at 69 %";
  EXPECT_EQ(Reason::shed, test().reason) << "at 70 %";
  fill_to(79);
  EXPECT_TRUE(read().allowed);
  EXPECT_EQ(Reason::shed, read().reason);
  fill_to(89);
  EXPECT_TRUE(write().allowed);
  EXPECT_EQ(Reason::shed, write().reason);
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(pay().allowed);
}

TEST_F(SheddingTest, EachClassIsAdmittedAgainBelowItsThreshold) {
  use(four_classes());
  fill_to(95);
  EXPECT_FALSE(write().allowed);
  EXPECT_FALSE(read().allowed);
  EXPECT_FALSE(test().allowed);
  clock_->advance(6ms);  // one percent a millisecond
  EXPECT_TRUE(write().allowed) << "at 89 %";
  EXPECT_FALSE(read().allowed);
  clock_->advance(11ms);
  EXPECT_TRUE(read().allowed) << "at 79 %";
  EXPECT_FALSE(test().allowed);
  clock_->advance(11ms);
  EXPECT_TRUE(test().allowed) << "at 69 %";
}

TEST_F(SheddingTest, ANodeThatIsAskedForLessThanItsCapacityShedsNothing) {
  use(four_classes());
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(test().allowed) << i;
    clock_->advance(1'010us);
  }
}

TEST_F(SheddingTest, OnceAClassIsShedThoseBeyondTheirShareAreRefusedUntilTheLoadHasBeenLowForAWhile) {
  use(four_classes());
  for (int i = 0; i < 100; ++i) static_cast<void>(read("greedy"));  // 80 of them are admitted
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(read("modest").allowed);
  clock_->advance(Shedder::kTick);  // the bucket is empty, and shares are known from here on
  fill_to(76);
  EXPECT_FALSE(read("greedy").allowed) << "in the band, and it has had more than its share";
  EXPECT_TRUE(read("modest").allowed);
  clock_->advance(500ms);
  EXPECT_TRUE(count_of("read").shedding) << "not calm for long enough";
  clock_->advance(600ms);
  EXPECT_TRUE(read("greedy").allowed);
  EXPECT_FALSE(count_of("read").shedding);
  fill_to(76);
  EXPECT_TRUE(read("greedy").allowed) << "the class is not being shed";
}

TEST_F(SheddingTest, ARefusedRequestIsChargedNothingObservedAndCountedInItsClass) {
  Rule rule;
  rule.id = "all";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = 10, .window = 1h};
  use(four_classes(), {rule});
  ASSERT_TRUE(read().allowed);
  fill_to(95);
  seen_->reasons.clear();
  const Decision refused = read();
  EXPECT_EQ(Reason::shed, refused.reason);
  EXPECT_EQ("shedding", refused.source);
  EXPECT_TRUE(refused.rules.empty());
  EXPECT_EQ(std::vector<Reason>{Reason::shed}, seen_->reasons);
  EXPECT_EQ(1u, count_of("read").shed);
  EXPECT_EQ(1u, count_of("read").admitted);
  clock_->advance(1s);
  EXPECT_EQ(8, read().decisive()->remaining);
}

TEST_F(SheddingTest, WhatIsFarFromItsMarkIsCountedAndFillsTheBucketLikeTheRest) {
  use(four_classes());
  for (int i = 0; i < 75; ++i) EXPECT_TRUE(read(std::to_string(i % 7)).allowed) << i;
  EXPECT_EQ(75u, count_of("read").admitted);
  EXPECT_EQ(740, shedder_->load()) << "what the last of them found";
  EXPECT_FALSE(test().allowed);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(read().allowed);
  EXPECT_FALSE(read().allowed) << "at 80 %";
  EXPECT_EQ(80u, count_of("read").admitted);
}

TEST_F(SheddingTest, WaitsAreSpreadSoThatNotAllComeBackAtOnce) {
  use(four_classes());
  fill_to(95);
  std::set<std::int64_t> waits;
  for (int i = 0; i < 100; ++i) {
    const Decision refused = read();
    ASSERT_GE(refused.retry_after, Shedder::kLeastWait);
    ASSERT_LT(refused.retry_after, Shedder::kLeastWait + Shedder::kLongestSpread);
    waits.insert(refused.retry_after.count());
  }
  EXPECT_GT(waits.size(), 90u);
}

TEST_F(SheddingTest, LooksRefundsAndResetsAreNotRefused) {
  use(four_classes());
  fill_to(95);
  const Attribute tenant{"tenant", "t"};
  Request look({&tenant, 1});
  look.peek = true;
  EXPECT_TRUE(engine_->check(look).allowed);
  EXPECT_TRUE(engine_->refund({{"tenant", "t"}}).allowed);
  EXPECT_TRUE(engine_->reset({{"tenant", "t"}}).allowed);
  EXPECT_EQ(0u, count_of("read").shed);
}

TEST_F(SheddingTest, APreparedCheckIsRefusedAndAdmittedLikeAnyOther) {
  use(four_classes());
  const auto prepared = engine_->prepare({{"tenant", "t"}});
  EXPECT_TRUE(prepared->check().allowed);
  fill_to(95);
  EXPECT_EQ(Reason::shed, prepared->check().reason);
  clock_->advance(1s);
  EXPECT_EQ(Reason::no_rule, prepared->check().reason);
}

TEST_F(SheddingTest, OnlyTrustedRequestsNameTheirClass) {
  Shedding shedding = four_classes();
  shedding.trust_priority = std::vector<Condition>{{"service", {"billing"}}};
  use(shedding);
  fill_to(95);
  EXPECT_TRUE(engine_->check({{"service", "billing"}, {"priority", "critical"}}).allowed);
  EXPECT_FALSE(engine_->check({{"service", "ads"}, {"priority", "critical"}}).allowed);
  EXPECT_FALSE(engine_->check({{"service", "billing"}, {"priority", "unheard-of"}}).allowed);
}

TEST_F(SheddingTest, WithoutTrustPriorityIsNotLookedAt) {
  use(four_classes());
  fill_to(95);
  EXPECT_FALSE(engine_->check({{"priority", "critical"}}).allowed);
}

class InFlightTest : public SheddingTest {
 protected:
  void SetUp() override {
    Rule exports;
    exports.id = "exports";
    exports.match = {{"action", {"export"}}};
    exports.kind = ChargeKind::lease;
    exports.lease = 30s;
    exports.allowance.limit = 100;
    Shedding shedding = four_classes();
    shedding.rate = 0;
    shedding.in_flight = 10;
    use(shedding, {exports});
  }
  LeaseAnswer acquire() {
    const Attribute attributes[] = {{"action", "export"}, {"method", "POST"}};
    LeaseQuestion question;
    question.request = Request(attributes);
    return engine_->leases()->ask(question);
  }
};

TEST_F(InFlightTest, OpenLeasesAreTheLoad) {
  std::vector<LeaseAnswer> leases;
  for (int i = 0; i < 7; ++i) leases.push_back(acquire());
  EXPECT_FALSE(test().allowed) << "7 of 10";
  EXPECT_TRUE(read().allowed);
  leases.push_back(acquire());
  EXPECT_FALSE(read().allowed) << "8 of 10";
  leases.push_back(acquire());
  const LeaseAnswer tenth = acquire();
  EXPECT_EQ(Reason::shed, tenth.decision.reason) << "9 of 10, and exports are writes";
  EXPECT_TRUE(tenth.handle.empty());
  static_cast<void>(engine_->leases()->release(leases[0].handle));
  static_cast<void>(engine_->leases()->release(leases[1].handle));
  EXPECT_TRUE(read().allowed) << "7 of 10";
}

TEST_F(InFlightTest, ALapsedLeaseIsNoLoadAndARenewedOneIs) {
  std::vector<LeaseAnswer> leases;
  for (int i = 0; i < 8; ++i) leases.push_back(acquire());
  clock_->advance(20s);
  static_cast<void>(engine_->leases()->renew(leases[0].handle));
  clock_->advance(11s);
  EXPECT_EQ(1, shedder_->open_work().open(clock_->now()));
  clock_->advance(20s);
  EXPECT_EQ(0, shedder_->open_work().open(clock_->now()));
}

TEST(OpenWork, ReportedDurationsGiveTheAverageThatWasOpen) {
  OpenWork work;
  TimePoint now = from_micros(1'800'000'000'000'000);
  for (int i = 0; i < 10'000; ++i) {  // 100 a second, 200 ms each: 20 open
    work.reported(200ms, now);
    now += 10ms;
  }
  EXPECT_GE(work.open(now), 19);
  EXPECT_LE(work.open(now), 21);
  EXPECT_EQ(0, work.open(now + 100s));
}

TEST(OpenWork, CountsAtMostItsBound) {
  OpenWork work;
  const TimePoint now = from_micros(1'800'000'000'000'000);
  for (std::uint64_t i = 0; i < OpenWork::kMost + 10; ++i) work.opened({i, i}, now + 1s);
  EXPECT_EQ(static_cast<std::int64_t>(OpenWork::kMost), work.open(now));
  EXPECT_EQ(0, work.open(now + 1s));
}

TEST_F(SheddingTest, CountsSurviveAnotherOrderOfClasses) {
  use(four_classes());
  fill_to(95);
  EXPECT_FALSE(read().allowed);
  Shedding turned = four_classes();
  std::swap(turned.classes[1], turned.classes[2]);
  ASSERT_TRUE(engine_->replace({.rules = {}, .shedding = turned}).ok());
  clock_->advance(1s);
  EXPECT_TRUE(write().allowed);
  EXPECT_EQ(1u, count_of("read").shed);
  EXPECT_EQ(1u, count_of("write").admitted);
}

}  // namespace
}  // namespace weir::engine
