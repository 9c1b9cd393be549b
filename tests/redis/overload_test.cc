// More calls than a server can answer in time: what waits, who is held back, and what is not the server's failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <vector>

#include "stores/redis/encoding.h"
#include "stores/redis/window.h"
#include "tests/redis/fake_server.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kFirstWindow = Window::kMostAtFirst;

class Overload : public ::testing::Test {
 protected:
  std::uint64_t failures(StoreHarness& harness, FailureKind kind) {
    return harness.store().stats().failures[static_cast<std::size_t>(kind)];
  }
  std::deque<TestCall>& begin(StoreHarness& harness, std::deque<TestCall>& calls, std::size_t count, Origin origin) {
    for (std::size_t i = 0; i < count; ++i) {
      const Charge charge = charge_of(allowance_, origin * 10'000 + calls.size());
      harness.begin(calls.emplace_back(Action::take, std::vector{charge}), origin);
    }
    return calls;
  }
  void await_arrival(StoreHarness& harness, std::size_t count) {
    harness.run_until("the calls arrive", [&] { return server_.arrived() >= count; });
    EXPECT_EQ(server_.arrived(), count);
  }
  std::string key(Origin origin, std::size_t number) {
    return bucket_name(charge_of(allowance_, origin * 10'000 + number));
  }

  FakeServer server_;
  const Allowance allowance_ = allowance_of(Algorithm::token_bucket, 1'000'000, hours(1));
};

// One reply every 20 ms to calls that wait for at most 300 ms: most of them are late, and the server is not silent.
TEST_F(Overload, ALateAnswerCostsItsOwnCallAndNothingElse) {
  StoreHarness harness(server_.url(), milliseconds(300));
  std::deque<TestCall> calls;
  begin(harness, calls, 60, 1);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    server_.release(1);
    const auto pause = steady_clock::now() + milliseconds(20);
    harness.run_until("it is time for the next reply", [&] { return steady_clock::now() > pause; });
  }
  std::size_t answered = 0;
  for (const TestCall& call : calls) {
    EXPECT_EQ(call.completions, 1);
    answered += call.status == Code::ok ? 1 : 0;
    EXPECT_TRUE(call.status == Code::ok || call.status == Code::deadline_exceeded);
  }
  EXPECT_GT(answered, 0U);
  EXPECT_LT(answered, calls.size());
  EXPECT_EQ(failures(harness, FailureKind::late), calls.size() - answered);
  EXPECT_EQ(failures(harness, FailureKind::timeout), 0U);
  EXPECT_EQ(harness.store().stats().connects, 1U) << "the connection was not cut";
  EXPECT_TRUE(harness.changes.empty()) << "the breaker stays closed";

  // The replies that came too late were dropped, so the next one is the next call's own.
  server_.set_answer(outcome_text(1, 77));
  server_.release_all();
  TestCall next(Action::take, {charge_of(allowance_, 9)});
  harness.run(next);
  ASSERT_EQ(next.status, Code::ok);
  EXPECT_EQ(next.outcomes[0].remaining, 77);
}

TEST_F(Overload, AServerThatFallsSilentIsCutOffEvenIfSomeOfItsAnswersWereOnlyLate) {
  StoreHarness harness(server_.url(), milliseconds(200));
  server_.release(1);
  std::deque<TestCall> calls;
  begin(harness, calls, 1, 1);
  harness.wait(calls[0]);
  begin(harness, calls, 3, 1);
  for (const TestCall& call : calls) harness.wait(call);
  EXPECT_EQ(failures(harness, FailureKind::timeout), 3U);
  harness.run_until("it connects again", [&] { return harness.store().stats().connects == 2; });
  EXPECT_TRUE(harness.changes.empty()) << "all that were lost together are one failure";
  server_.release_all();
  TestCall next(Action::take, {charge_of(allowance_, 9)});
  harness.run(next);
  EXPECT_EQ(next.status, Code::ok);
}

TEST_F(Overload, NoMoreIsUnderWayThanTheWindowAndEachClientHasItsTurn) {
  StoreHarness harness(server_.url(), seconds(10));
  std::deque<TestCall> greedy;
  begin(harness, greedy, kFirstWindow + 20, 1);
  std::deque<TestCall> modest;
  begin(harness, modest, 2, 2);
  await_arrival(harness, kFirstWindow);
  server_.release(1);
  await_arrival(harness, kFirstWindow + 1);
  server_.release(1);
  await_arrival(harness, kFirstWindow + 2);
  server_.release(2);
  await_arrival(harness, kFirstWindow + 4);
  std::vector<std::string> keys = server_.keys();
  keys.erase(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(kFirstWindow));
  EXPECT_THAT(keys, ::testing::ElementsAre(key(1, kFirstWindow), key(2, 0), key(1, kFirstWindow + 1), key(2, 1)));
  server_.release_all();
  for (const TestCall& call : greedy) harness.wait(call);
  for (const TestCall& call : greedy) EXPECT_EQ(call.status, Code::ok);
  EXPECT_EQ(failures(harness, FailureKind::overload), 0U);
}

TEST_F(Overload, AnOriginWithManyCallsInLineIsHeldBackUntilTheyHaveHadTheirTurn) {
  StoreHarness harness(server_.url(), seconds(10));
  std::deque<TestCall> greedy;
  begin(harness, greedy, kFirstWindow + RedisStore::kMaxWaiting - 1, 1);
  EXPECT_FALSE(harness.store().holds_back(1));
  begin(harness, greedy, 1, 1);
  EXPECT_TRUE(harness.store().holds_back(1));
  EXPECT_FALSE(harness.store().holds_back(2)) << "others are read on";
  await_arrival(harness, kFirstWindow);
  server_.release(1);
  await_arrival(harness, kFirstWindow + 1);
  EXPECT_FALSE(harness.store().holds_back(1));
  server_.release_all();
  for (const TestCall& call : greedy) harness.wait(call);
}

TEST_F(Overload, WhatWaitsTooLongForItsTurnIsRefusedAsOverload) {
  StoreHarness harness(server_.url(), milliseconds(400));
  std::deque<TestCall> sent;
  begin(harness, sent, kFirstWindow, 1);
  std::deque<TestCall> late;
  begin(harness, late, 3, 1);
  for (const TestCall& call : late) harness.wait(call);
  for (const TestCall& call : late) EXPECT_EQ(call.status, Code::unavailable);
  EXPECT_EQ(failures(harness, FailureKind::overload), 3U);
  EXPECT_FALSE(sent[0].done()) << "they are not kept until the deadline";
  EXPECT_FALSE(harness.store().holds_back(1));
  server_.release_all();
  for (const TestCall& call : sent) harness.wait(call);
  EXPECT_TRUE(harness.changes.empty()) << "being busy is not the server's failure";
}

TEST_F(Overload, OneOriginCannotTakeAllTheRoom) {
  RedisOptions options = parse_redis_url(server_.url() + "?in_flight=64").value();
  options.deadline = seconds(10);
  StoreHarness harness(options);
  std::deque<TestCall> greedy;
  begin(harness, greedy, 200, 1);
  const auto refused = std::count_if(greedy.begin(), greedy.end(), [](const TestCall& each) { return each.done(); });
  EXPECT_EQ(refused, 200 - 32 - 17) << "half of the room is for calls under way, and half of the rest for one origin";
  std::deque<TestCall> modest;
  begin(harness, modest, 5, 2);
  for (const TestCall& call : modest) EXPECT_FALSE(call.done());
  server_.release_all();
  for (const TestCall& call : modest) harness.wait(call);
  for (const TestCall& call : modest) EXPECT_EQ(call.status, Code::ok);
}

// A call that begins others when it is answered.
class ChainedCall final : public StoreCall {
 public:
  ChainedCall(Store& store, const Charge& charge, std::deque<TestCall>& next)
      : store_(store), charge_(charge), next_(next) {
    charges = {&charge_, 1};
    outcomes = {&outcome_, 1};
  }
  void complete() override {
    for (TestCall& call : next_) call.inline_answer = store_.begin(call);
  }

 private:
  Store& store_;
  const Charge charge_;
  ChargeOutcome outcome_;
  std::deque<TestCall>& next_;
};

TEST_F(Overload, WhatACompletionBeginsIsItsOwnOrigins) {
  StoreHarness harness(server_.url(), seconds(10));
  std::deque<TestCall> chained;
  for (std::size_t i = 0; i < RedisStore::kMaxWaiting + 1; ++i) {
    chained.emplace_back(Action::take, std::vector{charge_of(allowance_, 90'000 + i)});
  }
  ChainedCall first(harness.store(), charge_of(allowance_, 1), chained);
  ASSERT_FALSE(harness.store().begin(first, 5));
  std::deque<TestCall> others;
  begin(harness, others, kFirstWindow - 1, 1);
  await_arrival(harness, kFirstWindow);
  server_.release(1);
  // One of them has the place of the first.
  await_arrival(harness, kFirstWindow + 1);
  EXPECT_TRUE(harness.store().holds_back(5));
  EXPECT_FALSE(harness.store().holds_back(0));
  server_.release_all();
  for (const TestCall& call : chained) harness.wait(call);
  for (const TestCall& call : others) harness.wait(call);
  TestCall after(Action::take, {charge_of(allowance_, 2)});
  harness.run(after);
  EXPECT_FALSE(harness.store().holds_back(5));
}

// What was sent may have been charged; what waited in line was not.
Code status_of_lost(std::size_t call) { return call < kFirstWindow ? Code::deadline_exceeded : Code::unavailable; }

TEST_F(Overload, DestroyingTheStoreAnswersWhatWaitsInLine) {
  std::deque<TestCall> calls;
  {
    StoreHarness harness(server_.url(), seconds(10));
    begin(harness, calls, kFirstWindow + 10, 1);
    await_arrival(harness, kFirstWindow);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].completions, 1);
    EXPECT_EQ(calls[i].status, status_of_lost(i));
  }
}

// What waits in line when the server goes out of use does not wait on.
TEST_F(Overload, AServerThatIsLostTakesItsLineWithIt) {
  RedisServer real;
  StoreHarness harness(real.url(), seconds(10));
  TestCall first(Action::take, {charge_of(allowance_, 1)});
  harness.run(first);
  real.freeze();
  std::deque<TestCall> calls;
  begin(harness, calls, kFirstWindow + 20, 1);
  harness.poll();
  real.kill();
  for (const TestCall& call : calls) harness.wait(call);
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i].status, status_of_lost(i)) << i;
  EXPECT_EQ(failures(harness, FailureKind::overload), 0U) << "no call waited in vain";
}

}  // namespace
}  // namespace weir::redis::testing
