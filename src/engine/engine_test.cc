#include "engine/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

Rule make_rule(std::string id, std::int64_t limit, Duration window) {
  Rule rule;
  rule.id = std::move(id);
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = limit, .window = window};
  return rule;
}

// Gives the answers that the test sets, when the test says so.
class ScriptedStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    if (!answer_at_once) {
      pending.push_back(&call);
      ++calls;
      return false;
    }
    ++calls;
    call.status = status;
    return true;
  }
  bool immediate() const override { return answer_at_once; }
  std::string_view name() const override { return "scripted"; }

  bool answer_at_once = true;
  Code status = Code::unavailable;
  std::atomic<int> calls = 0;
  std::vector<StoreCall*> pending;
};

class EngineTest : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> engine_with(const Rules& rules, const std::shared_ptr<Store>& store = nullptr) {
    auto book = std::make_shared<rules::RuleBook>();
    const Status loaded = book->replace(rules);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.failure().message);
    LimiterOptions options;
    options.store = store != nullptr ? store : memory_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    return std::make_unique<Engine>(book, options, fallback_);
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<Store> memory_ = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  std::shared_ptr<Store> fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22});
};

TEST_F(EngineTest, ARequestThatNoRuleMatchesIsAllowedAsNoRule) {
  auto engine = engine_with({.rules = {make_rule("a", 1, 1s)}});
  const Decision decision = engine->check({{"user", "u"}});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(Reason::no_rule, decision.reason);
  EXPECT_EQ(nullptr, decision.decisive());
}

TEST_F(EngineTest, CountsDownDeniesAndRecoversExactlyAtRetryAfter) {
  auto engine = engine_with({.rules = {make_rule("a", 120, 60s)}});
  const Decision first = engine->check({{"tenant", "acme"}});
  EXPECT_TRUE(first.allowed);
  EXPECT_EQ(Reason::ok, first.reason);
  ASSERT_NE(nullptr, first.decisive());
  EXPECT_EQ("a", first.decisive()->rule);
  EXPECT_EQ(119, first.decisive()->remaining);
  EXPECT_EQ(500ms, first.decisive()->reset_after);
  EXPECT_EQ("memory", first.source);
  for (int i = 0; i < 119; ++i) ASSERT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  const Decision denied = engine->check({{"tenant", "acme"}});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(Reason::limit_exceeded, denied.reason);
  EXPECT_EQ(500ms, denied.retry_after);
  clock_->advance(denied.retry_after - 1us);
  EXPECT_FALSE(engine->check({{"tenant", "acme"}}).allowed);
  clock_->advance(1us);
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
}

TEST_F(EngineTest, AllRulesAreChargedOrNone) {
  auto engine = engine_with({.rules = {make_rule("wide", 10, 60s), make_rule("narrow", 2, 60s)}});
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  const Decision denied = engine->check({{"tenant", "acme"}});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ("narrow", denied.decisive()->rule);
  ASSERT_EQ(2u, denied.rules.size());
  EXPECT_TRUE(denied.rules[0].allowed);
  EXPECT_EQ(8, denied.rules[0].remaining) << "the wide rule was not charged for a denied request";
}

TEST_F(EngineTest, ShadowRulesRecordButNeverDeny) {
  Rule shadow = make_rule("shadow", 1, 60s);
  shadow.mode = Mode::shadow;
  auto engine = engine_with({.rules = {shadow, make_rule("wide", 10, 60s)}});
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  const Decision second = engine->check({{"tenant", "acme"}});
  EXPECT_TRUE(second.allowed);
  EXPECT_FALSE(second.rules[0].allowed);
  EXPECT_EQ("wide", second.decisive()->rule);
  EXPECT_EQ(8, second.rules[1].remaining);
}

TEST_F(EngineTest, GlobalShadowTurnsEveryDenialIntoARecord) {
  auto engine = engine_with({.rules = {make_rule("a", 1, 60s)}, .global_shadow = true});
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  const Decision second = engine->check({{"tenant", "acme"}});
  EXPECT_TRUE(second.allowed);
  EXPECT_FALSE(second.rules[0].allowed);
}

TEST_F(EngineTest, ACostThatCanNeverFitSaysSoInsteadOfATime) {
  auto engine = engine_with({.rules = {make_rule("a", 5, 60s)}});
  const Decision decision = engine->check(Request({{"tenant", "acme"}}, Cost{6}));
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(Reason::cost_too_large, decision.reason);
  EXPECT_EQ(Duration::zero(), decision.retry_after);
}

TEST_F(EngineTest, CostsOutsideTheBoundsAreRefusedNotWrapped) {
  auto engine = engine_with({.rules = {make_rule("a", 5, 60s)}});
  for (const std::int64_t cost : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), kMaxUnits + 1,
                                  std::numeric_limits<std::int64_t>::max()}) {
    const Decision decision = engine->check(Request({{"tenant", "acme"}}, Cost{cost}));
    EXPECT_FALSE(decision.allowed) << cost;
    EXPECT_EQ(Reason::cost_too_large, decision.reason) << cost;
  }
  EXPECT_EQ(4, engine->check({{"tenant", "acme"}}).decisive()->remaining);
}

TEST_F(EngineTest, ARequestThatTooManyRulesApplyToIsDeniedRatherThanHalfChecked) {
  Rules rules;
  for (std::size_t i = 0; i <= kMaxCharges; ++i) rules.rules.push_back(make_rule("r" + std::to_string(i), 5, 60s));
  auto engine = engine_with(rules);
  EXPECT_EQ(Reason::store_unavailable, engine->check({{"tenant", "acme"}}).reason);
  rules.rules.pop_back();
  ASSERT_TRUE(engine->replace(rules).ok());
  const Decision decision = engine->check({{"tenant", "acme"}});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(kMaxCharges, decision.rules.size());
}

TEST_F(EngineTest, PeekReportsWithoutTaking) {
  auto engine = engine_with({.rules = {make_rule("a", 5, 60s)}});
  const Attribute attributes[] = {{"tenant", "acme"}};
  Request peek{std::span<const Attribute>(attributes)};
  peek.peek = true;
  EXPECT_EQ(5, engine->check(peek).decisive()->remaining);
  EXPECT_EQ(5, engine->check(peek).decisive()->remaining);
  peek.cost = Cost{5};
  EXPECT_TRUE(engine->check(peek).allowed);
  EXPECT_EQ(4, engine->check({{"tenant", "acme"}}).decisive()->remaining);
  EXPECT_FALSE(engine->check(peek).allowed);
}

TEST_F(EngineTest, RefundGivesBackAndNeverMoreThanFull) {
  auto engine = engine_with({.rules = {make_rule("a", 5, 60s)}});
  engine->check(Request({{"tenant", "acme"}}, Cost{4}));
  EXPECT_EQ(3, engine->refund(Request({{"tenant", "acme"}}, Cost{2})).decisive()->remaining);
  EXPECT_EQ(5, engine->refund(Request({{"tenant", "acme"}}, Cost{100})).decisive()->remaining);
  EXPECT_EQ(4, engine->check({{"tenant", "acme"}}).decisive()->remaining);
}

TEST_F(EngineTest, ResetForgetsTheBuckets) {
  auto engine = engine_with({.rules = {make_rule("a", 1, 60s)}});
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_FALSE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_TRUE(engine->reset({{"tenant", "acme"}}).allowed);
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
}

TEST_F(EngineTest, UnlimitedPlansCountNothing) {
  Rule rule = make_rule("a", 1, 60s);
  rule.plans = {{"enterprise", {.unlimited = true}}};
  auto engine = engine_with({.rules = {rule}});
  for (int i = 0; i < 5; ++i) {
    const Decision decision = engine->check({{"tenant", "acme"}, {"plan", "enterprise"}});
    EXPECT_TRUE(decision.allowed);
    EXPECT_EQ(Reason::ok, decision.reason);
    EXPECT_TRUE(decision.rules[0].unlimited);
  }
}

TEST_F(EngineTest, ChangedLimitsApplyAtOnceAndWhatWasUsedStaysUsed) {
  auto engine = engine_with({.rules = {make_rule("a", 10, 60s)}});
  engine->check(Request({{"tenant", "acme"}}, Cost{8}));
  ASSERT_TRUE(engine->replace({.rules = {make_rule("a", 20, 60s)}}).ok());
  EXPECT_EQ(11, engine->check({{"tenant", "acme"}}).decisive()->remaining);
  ASSERT_TRUE(engine->replace({.rules = {make_rule("a", 5, 60s)}}).ok());
  EXPECT_FALSE(engine->check({{"tenant", "acme"}}).allowed);
}

TEST_F(EngineTest, InvalidRulesLeaveTheLoadedOnesActive) {
  auto engine = engine_with({.rules = {make_rule("a", 10, 60s)}});
  EXPECT_FALSE(engine->replace({.rules = {make_rule("a", -1, 60s)}}).ok());
  EXPECT_EQ(9, engine->check({{"tenant", "acme"}}).decisive()->remaining);
}

TEST_F(EngineTest, ABatchDecidesEachRequestInOrder) {
  auto engine = engine_with({.rules = {make_rule("a", 20, 60s)}});
  const std::array<Attribute, 1> acme = {Attribute{"tenant", "acme"}};
  const std::array<Attribute, 1> other = {Attribute{"user", "u"}};
  std::vector<Request> requests(40, Request(acme));
  requests[7] = Request(other);
  requests[9].cost = Cost{-5};
  std::vector<Decision> decisions(requests.size());
  engine->check_batch(requests, decisions);
  int admitted = 0;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (i == 7) {
      EXPECT_EQ(Reason::no_rule, decisions[i].reason);
    } else if (i == 9) {
      EXPECT_EQ(Reason::cost_too_large, decisions[i].reason);
    } else {
      admitted += decisions[i].allowed ? 1 : 0;
      EXPECT_EQ(decisions[i].allowed, i < 22);
    }
  }
  EXPECT_EQ(20, admitted);
}

struct PolicyCase {
  FailurePolicy policy;
  int admitted_of_10;
  bool first_allowed;
  Reason denial;
};

class FailurePolicyTest : public EngineTest, public ::testing::WithParamInterface<PolicyCase> {};

TEST_P(FailurePolicyTest, AnswersInsteadOfTheStore) {
  Rule rule = make_rule("a", 8, 60s);
  rule.on_store_failure = GetParam().policy;
  rule.local_share = 50;
  rule.static_limit = 3;
  auto engine = engine_with({.rules = {rule}}, std::make_shared<ScriptedStore>());
  int admitted = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string tenant = GetParam().policy == FailurePolicy::static_limit ? "t" + std::to_string(i) : "acme";
    const Decision decision = engine->check({{"tenant", tenant}});
    EXPECT_TRUE(decision.degraded);
    admitted += decision.allowed ? 1 : 0;
    if (!decision.allowed) {
      EXPECT_EQ(GetParam().denial, decision.reason);
    }
  }
  EXPECT_EQ(GetParam().admitted_of_10, admitted);
  EXPECT_EQ(10u, engine->fallbacks(GetParam().policy)) << "each answer given instead of the store is counted";
}

INSTANTIATE_TEST_SUITE_P(Every, FailurePolicyTest,
                         ::testing::Values(PolicyCase{FailurePolicy::allow, 10, true, Reason::ok},
                                           PolicyCase{FailurePolicy::deny, 0, false, Reason::store_unavailable},
                                           PolicyCase{FailurePolicy::degrade, 10, true, Reason::ok},
                                           PolicyCase{FailurePolicy::local, 4, true, Reason::limit_exceeded},
                                           PolicyCase{FailurePolicy::static_limit, 3, true, Reason::limit_exceeded}));

TEST_F(EngineTest, ADeferredStoreCompletesLaterAndTheRequestMayBeGoneByThen) {
  auto store = std::make_shared<ScriptedStore>();
  store->answer_at_once = false;
  auto engine = engine_with({.rules = {make_rule("a", 8, 60s)}}, store);
  int completions = 0;
  {
    const std::string tenant = "acme";
    engine->check({{"tenant", tenant}}, [&](const Decision& decision) {
      ++completions;
      EXPECT_TRUE(decision.allowed);
      EXPECT_EQ("a", decision.decisive()->rule);
      EXPECT_EQ("scripted", decision.source);
    });
  }
  EXPECT_EQ(0, completions);
  ASSERT_TRUE(engine->replace({.rules = {make_rule("b", 1, 1s)}}).ok());
  ASSERT_EQ(1u, store->pending.size());
  store->pending[0]->status = Code::ok;
  store->pending[0]->complete();
  EXPECT_EQ(1, completions);
}

TEST_F(EngineTest, ThePrefilterRefusesAnExhaustedBucketUntilItCanAdmitAgain) {
  auto store = std::make_shared<ScriptedStore>();
  store->answer_at_once = false;
  auto engine = engine_with({.rules = {make_rule("a", 8, 60s)}}, store);
  std::vector<Decision> decisions;
  const auto ask = [&] { engine->check({{"tenant", "acme"}}, [&](const Decision& d) { decisions.push_back(d); }); };
  const auto answer = [&](bool admitted, Duration retry_after) {
    StoreCall* const call = store->pending.back();
    store->pending.pop_back();
    call->status = Code::ok;
    call->outcomes[0] = ChargeOutcome{.admitted = admitted, .retry_after = retry_after, .reset_after = 5s};
    call->complete();
  };
  ask();
  clock_->advance(10ms);  // the answer took 10 ms; the wait counts from the sending
  answer(false, 100ms);
  EXPECT_FALSE(decisions.back().allowed);
  ask();
  ASSERT_EQ(2u, decisions.size()) << "answered without the store";
  EXPECT_FALSE(decisions.back().allowed);
  EXPECT_EQ("prefilter", decisions.back().source);
  EXPECT_EQ(90ms, decisions.back().retry_after);
  EXPECT_EQ(1, store->calls);
  clock_->advance(90ms);
  ask();
  EXPECT_EQ(2, store->calls) << "the bucket may admit again, so the store is asked";
  answer(false, 10s);
  clock_->advance(Prefilter::kMaxHold);
  ask();
  EXPECT_EQ(3, store->calls) << "another node may have refunded: an entry is not believed for long";
  answer(false, 10s);
  engine->refund({{"tenant", "acme"}}, [](const Decision&) {});
  answer(true, 0s);
  ask();
  EXPECT_EQ(5, store->calls) << "a refund is forgotten at once";
  answer(true, 0s);
}

TEST_F(EngineTest, ABlockingCheckWaitsForADeferredStore) {
  auto store = std::make_shared<ScriptedStore>();
  store->answer_at_once = false;
  auto engine = engine_with({.rules = {make_rule("a", 8, 60s)}}, store);
  std::atomic<bool> allowed{true};
  std::thread caller([&] { allowed = engine->check({{"tenant", "acme"}}).allowed; });
  while (store->calls.load() == 0) std::this_thread::yield();
  StoreCall* const call = store->pending.at(0);
  call->status = Code::ok;
  call->outcomes[0] = ChargeOutcome{.admitted = false, .retry_after = 1s};
  call->complete();
  caller.join();
  EXPECT_FALSE(allowed);
}

TEST_F(EngineTest, WhenTheStoreHasNoRoomTheNewcomersRuleAnswersByItsPolicy) {
  auto tiny = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 20});
  Rule open = make_rule("open", 1, std::chrono::hours(24));
  Rule closed = make_rule("closed", 1, std::chrono::hours(24));
  closed.per = {"user"};
  closed.on_store_failure = FailurePolicy::deny;
  auto engine = engine_with({.rules = {open, closed}}, tiny);
  ASSERT_TRUE(engine->check({{"tenant", "victim"}}).allowed);
  int degraded = 0;
  for (int i = 0; i < 100'000; ++i) degraded += engine->check({{"tenant", "t" + std::to_string(i)}}).degraded ? 1 : 0;
  EXPECT_GT(degraded, 0);
  EXPECT_FALSE(engine->check({{"tenant", "victim"}}).allowed) << "an active limit was pushed out";
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const Decision decision = engine->check({{"user", "u" + std::to_string(i)}});
    if (!decision.allowed) {
      ++refused;
      EXPECT_EQ(Reason::store_unavailable, decision.reason);
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(RulesCacheTest, ConcurrentChecksSurviveConcurrentReloads) {
  auto limiter = Limiter::create({.rules = {make_rule("a", 1'000'000, 60s)}});
  ASSERT_TRUE(limiter.ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const Decision decision = limiter.value()->check({{"tenant", "acme"}});
        ASSERT_EQ(1u, decision.rules.size());
        ASSERT_TRUE(decision.rules[0].rule == "a" || decision.rules[0].rule == "b");
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(limiter.value()->replace({.rules = {make_rule(i % 2 == 0 ? "b" : "a", 1'000'000, 60s)}}).ok());
  }
  stop = true;
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir::engine
