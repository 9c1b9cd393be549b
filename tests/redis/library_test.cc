// The Redis store as a program that embeds the library sees it: weir/redis.h, on a real server.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/redis/redis_servers.h"
#include "weir/limiter.h"
#include "weir/prepared_check.h"
#include "weir/redis.h"

namespace weir::redis::testing {
namespace {

using namespace std::chrono_literals;

Rules rules_of(std::int64_t limit) {
  Rule rule;
  rule.id = "jobs";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 24h};
  rule.on_store_failure = FailurePolicy::deny;
  return {.rules = {rule}};
}

// The deadline is long: what is tested is not how fast a busy machine is.
std::string patient(const std::string& url) { return url + "?deadline=10s&connect_timeout=10s"; }

std::unique_ptr<Limiter> limiter_on(const std::string& url, std::int64_t limit,
                                    Consistency consistency = Consistency::exact) {
  LimiterOptions options;
  const Status used = use_redis(patient(url), options);
  EXPECT_TRUE(used.ok()) << (used.ok() ? "" : used.failure().message);
  Rules rules = rules_of(limit);
  rules.rules[0].consistency = consistency;
  auto limiter = Limiter::create(rules, options);
  EXPECT_TRUE(limiter.ok());
  return std::move(limiter).value();
}

class RedisLibrary : public ::testing::Test {
 protected:
  RedisServer server_;
};

TEST_F(RedisLibrary, LimitersShareALimitAcrossThreads) {
  const auto first = limiter_on(server_.url(), 100);
  const auto second = limiter_on(server_.url(), 100);
  std::atomic<int> allowed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, limiter = i % 2 == 0 ? first.get() : second.get()] {
      for (int job = 0; job < 40; ++job) allowed += limiter->check({{"tenant", "acme"}}).allowed ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, 100);
}

TEST_F(RedisLibrary, ALeasedRuleIsSpentHereAndNeverAdmitsTooMuch) {
  const auto first = limiter_on(server_.url(), 5'000, Consistency::leased);
  const auto second = limiter_on(server_.url(), 5'000, Consistency::leased);
  int admitted = 0;
  int leased = 0;
  for (int i = 0; i < 6'000; ++i) {
    const Decision decision = (i % 2 == 0 ? first : second)->check({{"tenant", "acme"}});
    admitted += decision.allowed ? 1 : 0;
    leased += decision.source == "lease" ? 1 : 0;
  }
  EXPECT_LE(admitted, 5'000);
  EXPECT_GT(admitted, 4'000) << "slices of a window that is nearly used up are small";
  EXPECT_GT(leased, admitted / 2);
}

TEST_F(RedisLibrary, ASyncedRuleIsExact) {
  const auto limiter = limiter_on(server_.url(), 100, Consistency::synced);
  int admitted = 0;
  for (int i = 0; i < 150; ++i) {
    const Decision decision = limiter->check({{"tenant", "acme"}});
    admitted += decision.allowed ? 1 : 0;
    EXPECT_NE(decision.source, "synced");
  }
  EXPECT_EQ(admitted, 100);
}

TEST_F(RedisLibrary, AClosedStoreSpendsNoSlices) {
  LimiterOptions options;
  ASSERT_TRUE(use_redis(patient(server_.url()), options).ok());
  const auto store = std::static_pointer_cast<SharedStore>(options.store);
  Rules rules = rules_of(100'000);
  rules.rules[0].consistency = Consistency::leased;
  const auto limiter = std::move(Limiter::create(rules, options)).value();
  for (int i = 0; i < 2'000; ++i) ASSERT_TRUE(limiter->check({{"tenant", "acme"}}).allowed);
  EXPECT_EQ(limiter->check({{"tenant", "acme"}}).source, "lease");
  store->close();
  EXPECT_FALSE(limiter->check({{"tenant", "acme"}}).allowed);
}

TEST_F(RedisLibrary, APreparedCheckCountsInTheSameBucket) {
  const auto limiter = limiter_on(server_.url(), 3);
  const auto handle = limiter->prepare({{"tenant", "acme"}});
  EXPECT_TRUE(handle->check().allowed);
  EXPECT_TRUE(limiter->check({{"tenant", "acme"}}).allowed);
  std::promise<bool> allowed;
  handle->check(Cost{1}, [&](const Decision& decision) { allowed.set_value(decision.allowed); });
  EXPECT_TRUE(allowed.get_future().get());
  EXPECT_FALSE(handle->check().allowed);
}

TEST_F(RedisLibrary, UsesTheApplicationsLoop) {
  boost::asio::io_context loop;
  LimiterOptions options;
  auto store = open_redis_store(loop, {.url = patient(server_.url())});
  ASSERT_TRUE(store.ok());
  options.store = store.value();
  const auto limiter = std::move(Limiter::create(rules_of(2), options)).value();
  std::string answers;
  std::thread::id answered_on;
  std::function<void()> ask = [&] {
    limiter->check({{"tenant", "acme"}}, [&](const Decision& decision) {
      answered_on = std::this_thread::get_id();
      // Not connected yet.
      if (!decision.degraded) answers += decision.allowed ? 'y' : 'n';
      if (answers.size() < 3) boost::asio::post(loop, ask);
      if (answers.size() == 3) loop.stop();
    });
  };
  boost::asio::post(loop, ask);
  loop.run();
  EXPECT_EQ(answers, "yyn");
  EXPECT_EQ(answered_on, std::this_thread::get_id());
}

TEST_F(RedisLibrary, ClosingFailsWhatIsUnderWayAndWhatComesLater) {
  LimiterOptions options;
  options.hash_key = {1};
  std::atomic<bool> connected{false};
  auto store = open_redis_store({.url = patient(server_.url()), .on_event = [&](const RedisEvent& event) {
                                   if (event.kind == RedisEvent::Kind::connected) connected = true;
                                 }});
  ASSERT_TRUE(store.ok());
  options.store = store.value();
  const auto limiter = std::move(Limiter::create(rules_of(2), options)).value();
  eventually("a connection", [&] { return connected.load(); });
  server_.ask({"CLIENT", "PAUSE", "20000", "ALL"});
  std::promise<Reason> answer;
  limiter->check({{"tenant", "acme"}}, [&](const Decision& decision) { answer.set_value(decision.reason); });
  store.value()->close();
  EXPECT_EQ(answer.get_future().get(), Reason::store_unavailable);
  EXPECT_EQ(limiter->check({{"tenant", "acme"}}).reason, Reason::store_unavailable);
  store.value()->close();
}

// Takes a unit of each of `tenants` tenants; how many were admitted, and how many were not answered by Redis.
struct Taken {
  int admitted = 0;
  int degraded = 0;
};

Taken take_of_each(Limiter& limiter, int tenants) {
  Taken taken;
  for (int i = 0; i < tenants; ++i) {
    const Decision decision = limiter.check({{"tenant", "t" + std::to_string(i)}});
    taken.admitted += decision.allowed ? 1 : 0;
    taken.degraded += decision.degraded ? 1 : 0;
  }
  return taken;
}

TEST(RedisLibraryOnACluster, LimitersShareTheLimitOfEachSubjectWhereverItLives) {
  ClusterGroup cluster;
  const auto first = limiter_on(cluster.url(), 3);
  const auto second = limiter_on(cluster.url(), 3);
  constexpr int kTenants = 60;
  int admitted = 0;
  for (int round = 0; round < 3; ++round) {
    for (Limiter* const limiter : {first.get(), second.get()}) {
      const Taken taken = take_of_each(*limiter, kTenants);
      EXPECT_EQ(taken.degraded, 0);
      admitted += taken.admitted;
    }
  }
  EXPECT_EQ(admitted, 3 * kTenants);
  for (std::size_t i = 0; i < cluster.size(); ++i) EXPECT_GT(std::stoi(cluster.server(i).ask({"DBSIZE"})), 5) << i;
}

TEST(RedisLibraryWithSentinels, TheLimitIsKeptWhenAnotherServerBecomesTheMaster) {
  SentinelGroup group;
  const auto first = limiter_on(group.url(), 3);
  const auto second = limiter_on(group.url(), 3);
  constexpr int kTenants = 20;
  EXPECT_EQ(take_of_each(*first, kTenants).admitted, kTenants);
  EXPECT_EQ(take_of_each(*second, kTenants).admitted, kTenants);
  const int old_master = group.master_index();
  ASSERT_GE(old_master, 0);
  // Replicas must be level before an orderly change: what they have not seen is lost.
  group.server(static_cast<std::size_t>(old_master)).ask({"WAIT", "2", "5000"});
  ASSERT_EQ(group.sentinel().ask({"SENTINEL", "FAILOVER", "weir"}), "OK");
  eventually("another master", [&] { return group.master_index() >= 0 && group.master_index() != old_master; });
  const auto answered = [](Limiter& limiter) {
    return !limiter.check(Request({{"tenant", "probe"}}, Cost{0})).degraded;
  };
  eventually("Redis answers again", [&] { return answered(*first) && answered(*second); });
  EXPECT_EQ(take_of_each(*first, kTenants).admitted, kTenants);
  const Taken beyond = take_of_each(*second, kTenants);
  EXPECT_EQ(beyond.admitted, 0);
  EXPECT_EQ(beyond.degraded, 0) << "denied by the bucket, not by the failure policy";
}

TEST(RedisLibraryFailures, AUrlThatCannotBeReadIsSaidSo) {
  LimiterOptions options;
  const Status used = use_redis("redis://host:notaport", options);
  ASSERT_FALSE(used.ok());
  EXPECT_EQ(used.failure().code, Code::invalid_argument);
  EXPECT_EQ(options.store, nullptr);
}

TEST(RedisLibraryFailures, WithoutRedisThereIsNoSharedHashKey) {
  const auto key =
      shared_hash_key({.url = "redis://127.0.0.1:" + std::to_string(free_port())}, std::chrono::milliseconds(50));
  ASSERT_FALSE(key.ok());
  EXPECT_EQ(key.failure().code, Code::unavailable);
  EXPECT_NE(key.failure().message.find("LimiterOptions::hash_key"), std::string::npos) << key.failure().message;
}

TEST(RedisLibraryDeathTest, WaitingOnTheStoresOwnThreadIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const RedisServer server;
        const auto limiter = limiter_on(server.url(), 100);
        // An answer that is there at once runs its completion on this thread, where waiting is fine.
        for (int i = 0; i < 10'000; ++i) {
          std::promise<void> done;
          limiter->check({{"tenant", "acme"}}, [&](const Decision&) {
            limiter->check({{"tenant", "acme"}});
            done.set_value();
          });
          done.get_future().wait();
        }
      },
      "a call that waits, on the thread that would answer it");
}

}  // namespace
}  // namespace weir::redis::testing
