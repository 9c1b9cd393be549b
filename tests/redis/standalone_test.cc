// One Redis server: scripts, keys, time to live, shared limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <sstream>
#include <thread>

#include "stores/redis/encoding.h"
#include "stores/redis/scripts.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// So long that nothing comes back while a test runs.
constexpr Duration kEver = hours(24 * 3650);

class Standalone : public ::testing::Test {
 protected:
  static RedisServer& server() {
    static RedisServer instance;
    return instance;
  }
  void SetUp() override { server().ask({"FLUSHALL"}); }
};

class StandaloneWithEach : public Standalone, public ::testing::WithParamInterface<int> {
 protected:
  Algorithm algorithm() const { return static_cast<Algorithm>(GetParam()); }
};

// Two nodes, 32 clients each, one key.
TEST_P(StandaloneWithEach, TwoNodesAdmitExactlyTheLimit) {
  const Allowance allowance = allowance_of(algorithm(), 300, kEver);
  const std::int64_t expected = algorithm() == Algorithm::leaky_bucket ? 301 : 300;
  std::atomic<std::int64_t> admitted{0};
  auto node = [&] {
    StoreHarness harness(server().url());
    std::deque<TestCall> calls;
    for (int round = 0; round < 10; ++round) {
      for (int client = 0; client < 32; ++client) {
        harness.begin(calls.emplace_back(Action::take, std::vector{charge_of(allowance, 1)}));
      }
      for (const TestCall& call : calls) harness.wait(call);
    }
    for (const TestCall& call : calls) {
      ASSERT_EQ(call.status, Code::ok);
      admitted += call.outcomes[0].admitted ? 1 : 0;
    }
  };
  std::thread other(node);
  node();
  other.join();
  EXPECT_EQ(admitted, expected);
}

// A value that Weir did not write is neither an empty bucket nor overwritten: the call fails, other keys are not
// concerned.
TEST_P(StandaloneWithEach, AValueThatWeirDidNotWriteFailsTheCall) {
  const Allowance allowance = allowance_of(algorithm(), 4, seconds(60));
  StoreHarness harness(server().url());
  const Charge charge = charge_of(allowance, 1);
  const Charge other = charge_of(allowance, 2);
  TestCall first(Action::take, {charge});
  harness.run(first);
  const std::string good = server().ask({"GET", bucket_name(charge)});
  for (const std::string& value : {std::string("garbage"), std::string(35, 'x'), std::string("x"), std::string(),
                                   good + "x", good.substr(0, good.size() - 1)}) {
    server().ask({"SET", bucket_name(charge), value});
    for (const auto& charges : {std::vector{charge}, std::vector{charge, other}}) {
      TestCall call(Action::take, charges);
      harness.run(call);
      EXPECT_NE(call.status, Code::ok) << value;
    }
    EXPECT_EQ(server().ask({"GET", bucket_name(charge)}), value);
    TestCall unconcerned(Action::take, {other});
    harness.run(unconcerned);
    EXPECT_EQ(unconcerned.status, Code::ok);
    EXPECT_EQ(unconcerned.outcomes[0].remaining, first.outcomes[0].remaining);
    server().ask({"DEL", bucket_name(other)});
  }
  server().ask({"DEL", bucket_name(charge)});
  server().ask({"LPUSH", bucket_name(charge), "1"});
  for (const auto& charges : {std::vector{charge}, std::vector{charge, other}}) {
    TestCall call(Action::take, charges);
    harness.run(call);
    EXPECT_NE(call.status, Code::ok) << "a list";
  }
}

// Builds before this format wrote small letters and another meaning.
TEST_P(StandaloneWithEach, AValueOfTheFirstFormatCountsAsEmpty) {
  const Allowance allowance = allowance_of(algorithm(), 4, seconds(60));
  StoreHarness harness(server().url());
  const Charge charge = charge_of(allowance, 1);
  TestCall fresh(Action::take, {charge_of(allowance, 2)});
  harness.run(fresh);
  for (const char letter : std::string("fblctgk")) {
    server().ask({"SET", bucket_name(charge), letter + std::string(34, '\x7f')});
    TestCall call(Action::take, {charge});
    harness.run(call);
    ASSERT_EQ(call.status, Code::ok) << letter;
    EXPECT_EQ(call.outcomes[0].remaining, fresh.outcomes[0].remaining) << letter;
  }
}

// A share that is undone after its window has passed must not give anything back in the next one.
TEST_F(Standalone, UndoingAChargeOfAPassedWindowGivesNothingBack) {
  StoreHarness harness(server().url());
  for (const Algorithm algorithm : {Algorithm::fixed_window, Algorithm::sliding_counter}) {
    const Allowance allowance = allowance_of(algorithm, 100, seconds(10));
    const Charge charge = charge_of(allowance, 40 + static_cast<std::uint64_t>(algorithm));
    const auto script = [&](std::string_view action, std::int64_t now, std::int64_t cost, std::int64_t charged_at) {
      server().ask({"EVAL", kScriptBodies[kAlgorithmCount], "1", bucket_name(charge), action, std::to_string(now),
                    std::to_string(static_cast<int>(algorithm)), "1", std::to_string(cost), "100", "10000000", "0",
                    std::to_string(charged_at)});
    };
    const std::int64_t start = 1'800'000'000'000'000;
    script("t", start, 30, 0);
    script("t", start + 10'000'000, 50, 0);
    const std::string before = server().ask({"GET", bucket_name(charge)});
    script("u", start + 10'000'000, 30, start);
    EXPECT_EQ(server().ask({"GET", bucket_name(charge)}), before);
    script("u", start + 10'000'000, 30, start + 10'000'000);
    EXPECT_NE(server().ask({"GET", bucket_name(charge)}), before);
  }
}

// The key expires one second after the bucket is full again.
TEST_P(StandaloneWithEach, EveryKeyGetsItsTimeToLiveInTheSameStep) {
  const Allowance allowance = allowance_of(algorithm(), 4, seconds(60));
  StoreHarness harness(server().url());
  const Charge charge = charge_of(allowance, 1);
  TestCall call(Action::take, {charge});
  harness.run(call);
  ASSERT_TRUE(call.outcomes[0].admitted);
  const std::int64_t ttl = std::stoll(server().ask({"PTTL", bucket_name(charge)}));
  EXPECT_GT(ttl, 0);
  EXPECT_LE(ttl, ceil_ms(call.outcomes[0].reset_after) + 1000);
  TestCall refund(Action::refund, {charge});
  harness.run(refund);
  EXPECT_LE(std::stoll(server().ask({"PTTL", bucket_name(charge)})), ttl);
}

TEST_P(StandaloneWithEach, ScriptsThatWereFlushedAreLoadedAgainAndChargeOnce) {
  const Allowance allowance = allowance_of(algorithm(), 10, kEver);
  StoreHarness harness(server().url());
  ASSERT_TRUE(harness.take(charge_of(allowance, 1)));
  server().ask({"SCRIPT", "FLUSH"});
  TestCall call(Action::take, {charge_of(allowance, 1)});
  harness.run(call);
  EXPECT_EQ(call.status, Code::ok);
  EXPECT_TRUE(call.outcomes[0].admitted);
  EXPECT_EQ(call.outcomes[0].remaining, algorithm() == Algorithm::leaky_bucket ? 9 : 8);
  EXPECT_EQ(harness.store().stats().script_loads, 1U);
  ASSERT_TRUE(harness.take(charge_of(allowance, 1)));
  EXPECT_EQ(harness.store().stats().script_loads, 1U) << "loaded once, not each time";
}

TEST_P(StandaloneWithEach, OneKeyOfOneTypeHoldsABucketWhateverItsCosts) {
  const Allowance allowance = allowance_of(algorithm(), 1'000, seconds(60));
  StoreHarness harness(server().url());
  for (int i = 0; i < 20; ++i) harness.take(charge_of(allowance, 1, 1, 1 + i));
  EXPECT_EQ(server().ask({"DBSIZE"}), "1");
  EXPECT_EQ(server().ask({"TYPE", bucket_name(charge_of(allowance, 1))}), "string");
}

// It may be read as a bucket or be an error of that bucket. Numbers that no bucket has never come out of it.
TEST_P(StandaloneWithEach, ADamagedBucketConcernsNobodyElse) {
  const Allowance allowance = allowance_of(algorithm(), 10, kEver);
  StoreHarness harness(server().url());
  std::mt19937 random{static_cast<unsigned>(GetParam())};
  std::vector<std::string> damages = {"", "x", "t", "lllllllllllllll", "bbbbbbbbbbbbbbbbbbbbbbbb", "1800000000000000"};
  for (const char first : {'F', 'B', 'L', 'C', 'T', 'G', 'K'}) {
    for (const std::size_t size : {13U, 18U, 20U, 25U, 27U, 33U, 67U, 74U}) {
      std::string damage(size, first);
      for (std::size_t i = 1; i < size; ++i) damage[i] = static_cast<char>(random());
      damages.push_back(damage);
    }
  }
  for (std::size_t i = 0; i < damages.size(); ++i) {
    const Charge charge = charge_of(allowance, 100 + i);
    server().ask({"SET", bucket_name(charge), damages[i]});
    for (const Action action : {Action::peek, Action::take, Action::refund, Action::take}) {
      TestCall call(action, {charge});
      harness.run(call);
      if (call.status != Code::ok) continue;
      const ChargeOutcome& outcome = call.outcomes[0];
      EXPECT_GE(outcome.remaining, 0) << i;
      EXPECT_LE(outcome.remaining, allowance.largest_cost()) << i;
      for (const Duration wait : {outcome.retry_after, outcome.reset_after, outcome.delay}) {
        EXPECT_GE(wait.count(), 0) << i;
        EXPECT_LE(wait.count(), std::int64_t{1} << 53) << i;
      }
    }
  }
  EXPECT_TRUE(harness.changes.empty());
  EXPECT_TRUE(harness.take(charge_of(allowance, 1)));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, StandaloneWithEach, ::testing::Range(0, kAlgorithmCount));

TEST_F(Standalone, ADecisionOfSeveralRulesIsOneScriptCall) {
  StoreHarness harness(server().url());
  const Allowance first = allowance_of(Algorithm::token_bucket, 10, seconds(60));
  const Allowance second = allowance_of(Algorithm::sliding_log, 5, seconds(60));
  harness.settle(charge_of(first, 9));
  const std::uint64_t before = harness.store().stats().script_calls;
  TestCall call(Action::take, {charge_of(first, 1), charge_of(second, 2), charge_of(first, 3)});
  harness.run(call);
  EXPECT_EQ(harness.store().stats().script_calls, before + 1);
  EXPECT_TRUE(call.atomic);
  EXPECT_EQ(call.outcomes[1].remaining, 4);
}

TEST_F(Standalone, ManyDecisionsShareOneConnection) {
  StoreHarness harness(server().url());
  const Allowance allowance = allowance_of(Algorithm::gcra, 1'000'000, seconds(60));
  std::deque<TestCall> calls;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    harness.begin(calls.emplace_back(Action::take, std::vector{charge_of(allowance, i)}));
  }
  for (const TestCall& call : calls) harness.wait(call);
  EXPECT_EQ(harness.store().stats().connects, 1U);
  for (const TestCall& call : calls) {
    EXPECT_EQ(call.completions, 1);
    EXPECT_EQ(call.outcomes[0].remaining, 999'999) << "each call gets its own bucket's answer";
  }
}

TEST_F(Standalone, BeyondTheBoundOfCallsInFlightTheAnswerIsImmediate) {
  RedisOptions options = parse_redis_url(server().url() + "?in_flight=4").value();
  options.deadline = seconds(2);
  StoreHarness harness(options);
  const Allowance allowance = allowance_of(Algorithm::gcra, 100, seconds(60));
  harness.settle(charge_of(allowance, 0));
  std::deque<TestCall> calls;
  for (int i = 0; i < 6; ++i) harness.begin(calls.emplace_back(Action::take, std::vector{charge_of(allowance, 1)}));
  for (const TestCall& call : calls) harness.wait(call);
  EXPECT_EQ(calls[3].status, Code::ok);
  EXPECT_TRUE(calls[4].inline_answer);
  EXPECT_EQ(calls[5].status, Code::unavailable);
  EXPECT_TRUE(harness.changes.empty()) << "being busy is not the server's failure";
}

TEST_F(Standalone, KeysNameVersionTagRuleAndHash) {
  Allowance allowance = allowance_of(Algorithm::gcra, 1, seconds(1));
  Charge charge = charge_of(allowance, 0x2a);
  charge.tag = {0xabc, 0};
  charge.rule = "search-per-key";
  EXPECT_EQ(bucket_name(charge), "w1:{0000000000000abc}:search-per-key:1234567890abcdef000000000000002a");
  EXPECT_EQ(bucket_name(charge, key_prefix("prod")),
            "w1:prod:{0000000000000abc}:search-per-key:1234567890abcdef000000000000002a");
}

TEST_F(Standalone, AKeyOfAnotherTypeIsAFailureAndNotAnEmptyBucket) {
  const Allowance allowance = allowance_of(Algorithm::gcra, 1, seconds(1));
  StoreHarness harness(server().url());
  server().ask({"LPUSH", bucket_name(charge_of(allowance, 1)), "x"});
  TestCall call(Action::take, {charge_of(allowance, 1)});
  harness.run(call);
  EXPECT_EQ(call.status, Code::unavailable);
}

TEST_F(Standalone, TheDatabaseIsTheOneThatWasChosen) {
  const Allowance allowance = allowance_of(Algorithm::gcra, 1, seconds(60));
  StoreHarness harness(server().url() + "/3");
  ASSERT_TRUE(harness.take(charge_of(allowance, 1)));
  EXPECT_THAT(server().ask({"INFO", "keyspace"}), HasSubstr("db3:keys=1,expires=1"));
  SideClient client(server().port());
  client.ask({"SELECT", "3"});
  client.ask({"FLUSHDB"});
}

TEST_F(Standalone, AUnixSocketServesAsWell) {
  const TempFolder folder;
  const std::string path = (folder.path() / "redis.sock").string();
  ServerSetup setup;
  setup.arguments = {"--unixsocket", path};
  const RedisServer local(setup);
  const Allowance allowance = allowance_of(Algorithm::gcra, 1, seconds(60));
  StoreHarness harness("redis+unix://" + path);
  EXPECT_TRUE(harness.take(charge_of(allowance, 1)));
  EXPECT_FALSE(harness.take(charge_of(allowance, 1)));
}

TEST_F(Standalone, DestroyingTheStoreAnswersWhatIsInFlight) {
  const Allowance allowance = allowance_of(Algorithm::gcra, 1, seconds(60));
  TestCall call(Action::take, {charge_of(allowance, 1)});
  {
    StoreHarness harness(server().url());
    harness.begin(call);
    EXPECT_FALSE(call.done());
  }
  EXPECT_EQ(call.completions, 1);
  EXPECT_EQ(call.status, Code::deadline_exceeded);
}

// Not a check but a measurement for docs/redis.md: what a bucket takes in Redis.
TEST_F(Standalone, MeasuresMemoryPerBucket) {
  StoreHarness harness(server().url());
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const Allowance allowance = allowance_of(static_cast<Algorithm>(i), 100, seconds(60));
    const Charge charge = charge_of(allowance, static_cast<std::uint64_t>(i));
    ASSERT_TRUE(harness.take(charge));
    const std::string fresh = server().ask({"MEMORY", "USAGE", bucket_name(charge)});
    for (int k = 0; k < 99; ++k) harness.take(charge);
    const std::string full = server().ask({"MEMORY", "USAGE", bucket_name(charge)});
    const std::string name(algorithm_name(allowance.algorithm));
    RecordProperty("bytes_" + std::to_string(i), full);
    std::printf("%-16s %s bytes after one request, %s after 100 (value %s)\n", name.c_str(), fresh.c_str(),
                full.c_str(), server().ask({"STRLEN", bucket_name(charge)}).c_str());
    EXPECT_LT(std::stoi(full), 2'000);
  }
}

// Likewise: CPU of Redis for one decision, 64 in flight.
TEST_F(Standalone, MeasuresRedisCpuPerDecision) {
  constexpr int kDecisions = 6'400;
  const auto cpu_us = [&] {
    double sum = 0;
    std::istringstream lines(server().ask({"INFO", "cpu"}));
    for (std::string line; std::getline(lines, line);) {
      for (const std::string name : {"used_cpu_sys:", "used_cpu_user:"}) {
        if (line.starts_with(name)) sum += std::stod(line.substr(name.size()));
      }
    }
    return sum * 1e6;
  };
  StoreHarness harness(server().url());
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const Allowance allowance = allowance_of(static_cast<Algorithm>(i), 100, seconds(60));
    harness.settle(charge_of(allowance, 0));
    const double before = cpu_us();
    for (int round = 0; round < kDecisions / 64; ++round) {
      std::deque<TestCall> calls;
      for (std::uint64_t k = 0; k < 64; ++k) {
        harness.begin(calls.emplace_back(Action::take, std::vector{charge_of(allowance, k)}));
      }
      for (const TestCall& call : calls) harness.wait(call);
    }
    const std::string name(algorithm_name(allowance.algorithm));
    std::printf("%-16s %.1f us of Redis CPU per decision\n", name.c_str(), (cpu_us() - before) / kDecisions);
  }
  const StoreStats& stats = harness.store().stats();
  EXPECT_LE(stats.script_calls, stats.calls * 11 / 10) << "at most 1.1 script calls for each decision";
}

}  // namespace
}  // namespace weir::redis::testing
