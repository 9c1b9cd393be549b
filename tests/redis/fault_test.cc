// What must be true when Redis misbehaves. Real processes, real signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <vector>

#include "stores/redis/encoding.h"
#include "tests/redis/delay_proxy.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr Duration kEver = hours(24 * 3650);
constexpr std::int64_t kLimit = 50;

class Fault : public ::testing::Test {
 protected:
  std::uint64_t failures(StoreHarness& harness, FailureKind kind) {
    return harness.store().stats().failures[static_cast<std::size_t>(kind)];
  }
  // Asks until the store answers again; returns how often it admitted meanwhile.
  std::int64_t ask_until_answered(StoreHarness& harness) {
    std::int64_t admitted = 0;
    harness.run_until("the store answers again", [&] {
      TestCall call(Action::take, {charge_});
      harness.run(call);
      if (call.status != Code::ok) return false;
      admitted += call.outcomes[0].admitted ? 1 : 0;
      return true;
    });
    return admitted;
  }
  // Fails the test unless three calls in a row fail, the breaker opens, and then answers come without asking.
  void expect_breaker_opens(StoreHarness& harness) {
    for (int i = 0; i < 3; ++i) {
      TestCall call(Action::take, {charge_});
      harness.run(call);
      EXPECT_NE(call.status, Code::ok) << "never a guess";
    }
    ASSERT_EQ(harness.changes.size(), 1U);
    EXPECT_EQ(harness.changes[0].state, BreakerState::open);
    EXPECT_NE(harness.store().stats().breaker(), BreakerState::closed);
    TestCall refused(Action::take, {charge_});
    harness.begin(refused);
    EXPECT_TRUE(refused.inline_answer);
    EXPECT_EQ(refused.status, Code::unavailable);
  }

  RedisServer server_;
  const Allowance allowance_ = allowance_of(Algorithm::token_bucket, kLimit, kEver);
  const Charge charge_ = charge_of(allowance_, 1);
};

// The deadline is kept when Redis is stopped, and the breaker spares the next callers the wait.
TEST_F(Fault, AFrozenServerCostsTheDeadlineThreeTimesAndThenNothing) {
  StoreHarness harness(server_.url(), milliseconds(20));
  harness.settle(charge_);
  server_.freeze();
  const auto start = steady_clock::now();
  TestCall late(Action::take, {charge_});
  harness.run(late);
  const auto waited = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
  EXPECT_EQ(late.status, Code::deadline_exceeded);
  EXPECT_GE(waited.count(), 20);
  RecordProperty("waited_ms", static_cast<int>(waited.count()));
  for (int i = 0; i < 2; ++i) {
    TestCall call(Action::take, {charge_});
    harness.run(call);
    EXPECT_NE(call.status, Code::ok);
  }
  ASSERT_EQ(harness.changes.size(), 1U);
  for (int i = 0; i < 100; ++i) {
    TestCall call(Action::take, {charge_});
    harness.begin(call);
    ASSERT_TRUE(call.inline_answer);
  }
  EXPECT_GE(failures(harness, FailureKind::refused), 100U);
  server_.thaw();
  ask_until_answered(harness);
  ASSERT_EQ(harness.changes.size(), 2U);
  EXPECT_EQ(harness.changes[1].state, BreakerState::closed);
  EXPECT_GT(harness.store().stats().refused_us, 0U);
}

// A call that was given up may still be carried out by the server, once; its answer must never reach another call.
TEST_F(Fault, AnAnswerThatComesTooLateReachesNobodyAndChargesAtMostOnce) {
  StoreHarness harness(server_.url(), milliseconds(20));
  const Allowance other = allowance_of(Algorithm::fixed_window, 1000, kEver);
  harness.settle(charge_);
  server_.freeze();
  std::deque<TestCall> lost;
  for (int i = 0; i < 2; ++i) harness.begin(lost.emplace_back(Action::take, std::vector{charge_}));
  for (const TestCall& call : lost) harness.wait(call);
  server_.thaw();
  TestCall next(Action::take, {charge_of(other, 2)});
  harness.run_until("another call is answered", [&] {
    TestCall call(Action::take, {charge_of(other, 2, 1, 7)});
    harness.run(call);
    if (call.status != Code::ok) return false;
    EXPECT_EQ(call.outcomes[0].remaining % 7, 1000 % 7) << "an answer about another bucket";
    return true;
  });
  TestCall look(Action::peek, {charge_});
  harness.run(look);
  EXPECT_GE(look.outcomes[0].remaining, kLimit - 2);
  for (const TestCall& call : lost) EXPECT_EQ(call.completions, 1);
}

TEST_F(Fault, AReplicaIsAFailureAndNotAnEmptyBucket) {
  StoreHarness harness(server_.url());
  harness.settle(charge_);
  server_.ask({"REPLICAOF", "127.0.0.1", "1"});
  expect_breaker_opens(harness);
  EXPECT_GT(failures(harness, FailureKind::read_only), 0U);
  server_.ask({"REPLICAOF", "NO", "ONE"});
  ask_until_answered(harness);
  EXPECT_EQ(harness.store().stats().breaker(), BreakerState::closed);
}

TEST_F(Fault, AServerWithoutMemoryIsAFailureAndChargesNothing) {
  StoreHarness harness(server_.url());
  ASSERT_TRUE(harness.take(charge_));
  server_.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server_.ask({"CONFIG", "SET", "maxmemory", "1"});
  TestCall several(Action::take, {charge_, charge_of(allowance_, 2)});
  harness.run(several);
  EXPECT_EQ(several.status, Code::unavailable);
  EXPECT_GT(failures(harness, FailureKind::memory), 0U);
  for (int i = 0; i < 2; ++i) {
    TestCall call(Action::take, {charge_});
    harness.run(call);
    EXPECT_NE(call.status, Code::ok);
  }
  EXPECT_NE(harness.store().stats().breaker(), BreakerState::closed);
  server_.ask({"CONFIG", "SET", "maxmemory", "0"});
  harness.settle(charge_);
  TestCall look(Action::peek, {charge_});
  harness.run(look);
  EXPECT_EQ(look.outcomes[0].remaining, kLimit - 1);
}

TEST_F(Fault, AServerThatIsLoadingIsAFailure) {
  StoreHarness harness(server_.url());
  harness.settle(charge_);
  // Two hundred thousand keys take the server long enough to load again.
  server_.ask({"DEBUG", "POPULATE", "200000", "x", "50"});
  server_.ask({"CONFIG", "SET", "key-load-delay", "20"});
  server_.ask({"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"});
  SideClient loader(server_.port());
  std::thread reload([&] { loader.ask({"DEBUG", "RELOAD"}); });
  harness.run_until("the server says LOADING", [&] {
    TestCall call(Action::take, {charge_});
    harness.run(call);
    return failures(harness, FailureKind::loading) > 0 || harness.store().stats().breaker() != BreakerState::closed;
  });
  EXPECT_EQ(failures(harness, FailureKind::other), 0U);
  SideClient(server_.port()).ask({"CONFIG", "SET", "key-load-delay", "0"});
  reload.join();
  ask_until_answered(harness);
}

// The stated bound is one more limit for each loss of the data.
TEST_F(Fault, FlushAllGivesAtMostOneMoreLimit) {
  StoreHarness harness(server_.url());
  std::int64_t admitted = 0;
  for (int i = 0; i < 4 * kLimit; ++i) {
    if (i == kLimit / 2) server_.ask({"FLUSHALL"});
    admitted += harness.take(charge_) ? 1 : 0;
  }
  EXPECT_GT(admitted, kLimit);
  EXPECT_LE(admitted, 2 * kLimit);
}

TEST_F(Fault, AServerKilledAndStartedAgainIsFoundWithoutHelp) {
  StoreHarness harness(server_.url(), milliseconds(20));
  harness.settle(charge_);
  std::int64_t admitted = 0;
  for (int i = 0; i < 10; ++i) admitted += harness.take(charge_) ? 1 : 0;
  server_.kill();
  expect_breaker_opens(harness);
  server_.start();
  admitted += ask_until_answered(harness);
  for (int i = 0; i < 4 * kLimit; ++i) admitted += harness.take(charge_) ? 1 : 0;
  EXPECT_LE(admitted, 2 * kLimit);
  EXPECT_EQ(harness.store().stats().breaker(), BreakerState::closed);
  EXPECT_GE(harness.store().stats().connects, 2U);
}

// What a server has answered it has written to its append-only file before; only the machine's own end can lose that.
TEST_F(Fault, AServerWithAnAppendOnlyFileForgetsNothingWhenItIsKilled) {
  ServerSetup setup;
  setup.arguments = {"--appendonly", "yes"};
  RedisServer kept(setup);
  StoreHarness harness(kept.url(), milliseconds(100));
  harness.settle(charge_);
  std::int64_t admitted = 0;
  for (int i = 0; i < 30; ++i) admitted += harness.take(charge_) ? 1 : 0;
  kept.kill();
  kept.start();
  admitted += ask_until_answered(harness);
  for (int i = 0; i < 4 * kLimit; ++i) admitted += harness.take(charge_) ? 1 : 0;
  EXPECT_EQ(admitted, kLimit);
}

TEST_F(Fault, AServerThatIsAbsentFromTheStartIsFoundWhenItComes) {
  server_.kill();
  StoreHarness harness(server_.url(), milliseconds(20));
  TestCall call(Action::take, {charge_});
  harness.run(call);
  EXPECT_EQ(call.status, Code::unavailable);
  server_.start();
  EXPECT_EQ(ask_until_answered(harness), 1);
}

// 200 ms more to Redis. Every call ends near its deadline, the breaker opens, nothing piles up.
TEST_F(Fault, ASlowNetworkCostsTheDeadlineAndNoQueueGrows) {
  DelayProxy proxy(server_.port());
  StoreHarness harness(proxy.url(), milliseconds(20));
  harness.settle(charge_);
  proxy.set_delay(milliseconds(200));
  std::vector<milliseconds> waits;
  for (int i = 0; i < 3; ++i) {
    const auto start = steady_clock::now();
    TestCall call(Action::take, {charge_});
    harness.run(call);
    waits.push_back(std::chrono::duration_cast<milliseconds>(steady_clock::now() - start));
    EXPECT_NE(call.status, Code::ok);
  }
  RecordProperty("longest_wait_ms", static_cast<int>(std::max_element(waits.begin(), waits.end())->count()));
  ASSERT_EQ(harness.changes.size(), 1U);
  const std::uint64_t sent = harness.store().stats().script_calls;
  for (int i = 0; i < 1'000; ++i) {
    TestCall call(Action::take, {charge_});
    harness.begin(call);
    ASSERT_TRUE(call.inline_answer);
  }
  EXPECT_EQ(harness.store().stats().script_calls, sent);
  proxy.set_delay(milliseconds(0));
  ask_until_answered(harness);
  EXPECT_EQ(harness.store().stats().breaker(), BreakerState::closed);
}

// The connection is cut with calls under way.
TEST_F(Fault, ACutConnectionFailsWhatWaitsAndRetriesNothing) {
  StoreHarness harness(server_.url());
  harness.settle(charge_);
  const std::uint64_t sent = harness.store().stats().script_calls;
  server_.ask({"CLIENT", "PAUSE", "200"});
  std::deque<TestCall> calls;
  for (int i = 0; i < 20; ++i) harness.begin(calls.emplace_back(Action::take, std::vector{charge_}));
  harness.poll();
  server_.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  for (const TestCall& call : calls) harness.wait(call);
  for (const TestCall& call : calls) EXPECT_EQ(call.status, Code::deadline_exceeded);
  EXPECT_EQ(harness.store().stats().script_calls, sent + 20);
  ask_until_answered(harness);
}

}  // namespace
}  // namespace weir::redis::testing
