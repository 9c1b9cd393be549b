// A rule's max_subjects with real servers: random subjects leave a bounded number of keys, and those that have a bucket
// keep it.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kMost = 200;
constexpr std::uint64_t kShared = 0xffff'0000;
// One in sixteen is told at once, and the call that tells it is under way with the next.
constexpr int kOvershoot = kMost / 16 + 2;

class Subjects : public ::testing::Test {
 protected:
  Charge charge(std::uint64_t subject, std::uint32_t most = kMost) const {
    Charge charge = charge_of(allowance_, subject, subject);
    charge.key.low = subject * 0x9E3779B97F4A7C15;
    charge.rule = "per-ip";
    charge.number = 3;
    charge.max_subjects = most;
    return charge;
  }
  // As the engine does it.
  bool take(StoreHarness& harness, std::uint64_t subject, bool* shared = nullptr) {
    TestCall own(Action::take, {charge(subject)});
    harness.run(own);
    EXPECT_EQ(own.status, Code::ok);
    if (shared != nullptr) *shared = own.outcomes[0].status == Code::out_of_range;
    if (own.outcomes[0].status == Code::ok) return own.outcomes[0].admitted;
    EXPECT_EQ(own.outcomes[0].status, Code::out_of_range);
    TestCall together(Action::take, {charge(kShared, 0)});
    harness.run(together);
    return together.outcomes[0].admitted;
  }
  // Returns how many passed.
  int attack(StoreHarness& harness, int requests) {
    std::mt19937_64 random(20'261'118);
    int passed = 0;
    for (int i = 0; i < requests; ++i) passed += take(harness, 1'000 + random() % 1'000'000'000) ? 1 : 0;
    return passed;
  }

  const Allowance allowance_ = allowance_of(Algorithm::fixed_window, 3, seconds(3600));
};

TEST_F(Subjects, RandomOnesLeaveABoundedNumberOfKeysAndAnExhaustedOneStaysDenied) {
  RedisServer server;
  StoreHarness harness(server.url());
  harness.settle(charge(1));
  for (int i = 0; i < 3; ++i) take(harness, 1);
  ASSERT_FALSE(take(harness, 1));
  const int passed = attack(harness, 5'000);
  EXPECT_GE(passed, static_cast<int>(kMost) - 1 + 3);
  EXPECT_LE(passed, static_cast<int>(kMost) + kOvershoot + 3);
  EXPECT_LE(std::stoi(server.ask({"DBSIZE"})), static_cast<int>(kMost) + kOvershoot + 2)
      << "the shared one and the set";
  const std::string set = "w1:{subjects.per-ip}:0";
  EXPECT_LE(std::stoi(server.ask({"ZCARD", set})), static_cast<int>(kMost) + kOvershoot);
  EXPECT_GT(std::stoll(server.ask({"PTTL", set})), 0);
  bool shared = true;
  EXPECT_FALSE(take(harness, 1, &shared));
  EXPECT_FALSE(shared) << "denied by its own bucket";
  EXPECT_FALSE(take(harness, 7, &shared)) << "the shared bucket is exhausted too";
  EXPECT_TRUE(shared);
}

TEST_F(Subjects, NodesCountTogether) {
  RedisServer server;
  StoreHarness first(server.url());
  StoreHarness second(server.url());
  first.settle(charge(1));
  second.settle(charge(1));
  take(first, 1);
  attack(first, 1'000);
  // Learned within a second; a subject of the first node is no newcomer here.
  bool shared = false;
  std::uint64_t next = 5;
  second.run_until("the count to arrive", [&] {
    take(second, next++, &shared);
    return shared;
  });
  take(second, 1, &shared);
  EXPECT_FALSE(shared);
}

TEST_F(Subjects, PlacesBecomeFreeWhenBucketsExpire) {
  RedisServer server;
  StoreHarness harness(server.url());
  harness.settle(charge(1));
  attack(harness, 1'000);
  server.ask({"FLUSHALL"});
  bool shared = true;
  harness.run_until("the count to be learned again", [&] {
    take(harness, 8, &shared);
    return !shared;
  });
}

TEST_F(Subjects, WithoutRightsForTheCountDecisionsGoOnAndTheFailureIsCounted) {
  RedisServer server;
  server.ask({"ACL", "SETUSER", "weir", "on", ">pw", "~w1:*", "-@all", "+eval", "+evalsha", "+script|load", "+get",
              "+mget", "+set", "+del", "+time", "+client|setname"});
  auto census = std::make_shared<SubjectCensus>();
  RedisOptions options = parse_redis_url("redis://weir:pw@127.0.0.1:" + std::to_string(server.port())).value();
  options.deadline = seconds(2);
  options.census = census;
  StoreHarness harness(options);
  harness.settle(charge(1));
  EXPECT_TRUE(take(harness, 1));
  harness.run_until("the failure", [&] { return census->failures() > 0; });
  EXPECT_TRUE(take(harness, 2));
}

TEST_F(Subjects, InAClusterBucketsOfOtherSlotsAreUndoneForANewcomer) {
  ClusterGroup cluster;
  StoreHarness harness(cluster.url());
  harness.settle(charge(1));
  // Replies come from three servers, so the count lags a little more than on one.
  attack(harness, 2'000);
  int keys = 0;
  for (std::size_t i = 0; i < cluster.size(); ++i) keys += std::stoi(cluster.server(i).ask({"DBSIZE"}));
  EXPECT_LE(keys, static_cast<int>(kMost) + 2 * kOvershoot + 2);
  const Allowance wide = allowance_of(Algorithm::token_bucket, 10, seconds(3600));
  Charge other = charge_of(wide, 77, 77);
  other.rule = "other";
  TestCall both(Action::take, {other, charge(9)});
  harness.run(both);
  ASSERT_EQ(both.status, Code::ok);
  EXPECT_EQ(both.outcomes[1].status, Code::out_of_range);
  harness.run_until("the undoing", [&] {
    TestCall look(Action::peek, {other});
    harness.run(look);
    return look.outcomes[0].remaining == 10;
  });
}

}  // namespace
}  // namespace weir::redis::testing
