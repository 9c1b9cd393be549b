// A master, two replicas, three sentinels: who is the master, and what a change of it costs.
#include <gtest/gtest.h>

#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::int64_t kLimit = 400;

class SentinelTest : public ::testing::Test {
 protected:
  // One group for the program: its master changes from test to test.
  static std::unique_ptr<SentinelGroup>& group() {
    static auto* const instance = new std::unique_ptr<SentinelGroup>(std::make_unique<SentinelGroup>());
    return *instance;
  }
  static void TearDownTestSuite() { group().reset(); }

  // The last test's old master must have become a replica, which its sentinels see to every ten seconds.
  void SetUp() override {
    eventually(
        "both replicas follow the master",
        [] {
          const int master = group()->master_index();
          return master >= 0 && group()->server(static_cast<std::size_t>(master))
                                        .ask({"INFO", "replication"})
                                        .find("connected_slaves:2") != std::string::npos;
        },
        std::chrono::seconds(40));
  }

  // Takes one unit after the other until `enough` holds; returns how many were admitted.
  std::int64_t take_until(StoreHarness& harness, const std::function<bool(std::int64_t answered)>& enough) {
    std::int64_t admitted = 0;
    std::int64_t answered = 0;
    harness.run_until("the load has run", [&] {
      TestCall call(Action::take, {charge_});
      harness.run(call);
      if (call.status == Code::ok) {
        ++answered;
        admitted += call.outcomes[0].admitted ? 1 : 0;
      }
      return enough(answered);
    });
    return admitted;
  }

  const Allowance allowance_ = allowance_of(Algorithm::sliding_log, kLimit, hours(24));
  const Charge charge_ = charge_of(allowance_, 1);
};

TEST_F(SentinelTest, FindsTheMasterAndMovesWhenTheSentinelsSwitch) {
  StoreHarness harness(group()->url(), milliseconds(100));
  harness.settle(charge_);
  const int old_master = group()->master_index();
  ASSERT_GE(old_master, 0);
  std::int64_t admitted = take_until(harness, [](std::int64_t answered) { return answered == 50; });
  EXPECT_EQ(admitted, 50);
  // Replicas must be level before an orderly change, or their lag would be tested instead.
  group()->server(static_cast<std::size_t>(old_master)).ask({"WAIT", "2", "1000"});
  ASSERT_EQ(group()->sentinel().ask({"SENTINEL", "FAILOVER", "weir"}), "OK");
  admitted += take_until(harness, [&](std::int64_t) { return group()->master_index() != old_master; });
  admitted += take_until(harness, [](std::int64_t answered) { return answered >= 2 * kLimit; });
  EXPECT_GE(admitted, kLimit);
  // What the old master admitted between the promotion of a replica and its own demotion is lost, however long that
  // takes; but it is one bucket's worth, so the bound is one more limit.
  EXPECT_LE(admitted, 2 * kLimit);
}

TEST_F(SentinelTest, AMasterThatNoSentinelKnowsIsSaid) {
  RedisOptions options = parse_redis_url(group()->url()).value();
  options.master_name = "nobody";
  StoreHarness harness(options);
  harness.run_until("a sentinel answers", [&] { return !harness.connect_failures.empty(); });
  EXPECT_EQ(harness.connect_failures[0].cause, Cause::no_master);
  EXPECT_EQ(harness.connect_failures[0].said, "the sentinel knows no master named nobody");
}

// The documented way to change masters without loss: hold back writes until the old master has been demoted.
TEST_F(SentinelTest, AnOrderlyFailoverBehindAPauseAdmitsExactlyTheLimit) {
  StoreHarness harness(group()->url(), milliseconds(100));
  harness.settle(charge_);
  TestCall reset(Action::reset, {charge_});
  harness.run(reset);
  std::int64_t admitted = take_until(harness, [](std::int64_t answered) { return answered == 200; });
  const int old_master = group()->master_index();
  ASSERT_GE(old_master, 0);
  RedisServer& old_server = group()->server(static_cast<std::size_t>(old_master));
  ASSERT_EQ(old_server.ask({"CLIENT", "PAUSE", "10000", "WRITE"}), "OK");
  ASSERT_EQ(old_server.ask({"WAIT", "2", "1000"}), "2");
  ASSERT_EQ(group()->sentinel().ask({"SENTINEL", "FAILOVER", "weir"}), "OK");
  admitted += take_until(harness, [&](std::int64_t) { return group()->master_index() != old_master; });
  admitted += take_until(harness, [](std::int64_t answered) { return answered >= 2 * kLimit; });
  old_server.ask({"CLIENT", "UNPAUSE"});
  EXPECT_EQ(admitted, kLimit);
}

// Bound: what the dead master had admitted and not yet replicated, a few requests at one in flight.
TEST_F(SentinelTest, AKilledMasterIsReplacedUnderLoadAndTheLimitHolds) {
  StoreHarness harness(group()->url(), milliseconds(50));
  harness.settle(charge_);
  TestCall reset(Action::reset, {charge_});
  harness.run(reset);
  std::int64_t admitted = take_until(harness, [](std::int64_t answered) { return answered == 200; });
  const int master = group()->master_index();
  ASSERT_GE(master, 0);
  group()->server(static_cast<std::size_t>(master)).kill();
  admitted += take_until(harness, [](std::int64_t answered) { return answered >= 2 * kLimit; });
  EXPECT_NE(group()->master_index(), master);
  EXPECT_GE(admitted, kLimit);
  EXPECT_LE(admitted, kLimit + 10);
  EXPECT_EQ(harness.store().stats().breaker(), BreakerState::closed);
}

}  // namespace
}  // namespace weir::redis::testing
