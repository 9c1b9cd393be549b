// Errors of a real server: which of them are its own, what is logged about them, and what probes find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "stores/redis/encoding.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ServerError : public ::testing::Test {
 protected:
  // Calls fail until the breaker opens; what it was told.
  Trouble trouble_of(StoreHarness& harness) {
    harness.run_until("the breaker opens", [&] {
      TestCall call(Action::take, {charge_});
      harness.run(call);
      EXPECT_NE(call.status, Code::ok);
      return !harness.changes.empty();
    });
    return harness.changes[0].trouble;
  }
  // What connecting there failed of, without any call.
  Trouble connecting_to(const std::string& url) {
    RedisOptions options = parse_redis_url(url).value();
    options.connect_timeout = milliseconds(300);
    StoreHarness harness(options);
    harness.run_until("connecting fails", [&] { return !harness.connect_failures.empty(); });
    return harness.connect_failures[0];
  }
  std::string port() const { return std::to_string(server_.port()); }

  RedisServer server_;
  const Allowance allowance_ = allowance_of(Algorithm::token_bucket, 100, hours(1));
  const Charge charge_ = charge_of(allowance_, 1);
};

TEST_F(ServerError, AKeyOfAnotherTypeConcernsThatKeyOnly) {
  StoreHarness harness(server_.url());
  const Charge bad = charge_of(allowance_, 66);
  server_.ask({"LPUSH", bucket_name(bad), "x"});
  std::deque<TestCall> calls;
  for (int i = 0; i < 50; ++i) {
    harness.begin(calls.emplace_back(Action::take, std::vector{bad}));
    harness.begin(calls.emplace_back(Action::take, std::vector{bad}));
    harness.begin(calls.emplace_back(Action::take, std::vector{bad}));
    harness.begin(calls.emplace_back(Action::take, std::vector{charge_}));
  }
  for (const TestCall& call : calls) harness.wait(call);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].status, i % 4 == 3 ? Code::ok : Code::unavailable) << i;
  }
  EXPECT_TRUE(harness.changes.empty());
  EXPECT_EQ(harness.store().stats().failures[static_cast<std::size_t>(FailureKind::bucket)], 150U);
  ASSERT_FALSE(harness.bad_buckets.empty());
  EXPECT_LE(harness.bad_buckets.size(), 2U) << "told at most once a second";
  EXPECT_THAT(harness.bad_buckets[0], AllOf(StartsWith(bucket_name(bad)), HasSubstr("WRONGTYPE")));
}

// SET and PING work, so a probe with either would close the breaker again and again.
TEST_F(ServerError, WithoutTheRightToRunScriptsTheBreakerOpensOnceAndStaysOpen) {
  for (const char* missing : {"-evalsha", "-get", "-mget", "-del"}) {
    StoreHarness harness(server_.url());
    harness.settle(charge_);
    server_.ask({"ACL", "SETUSER", "default", missing, std::string_view(missing) == "-evalsha" ? "-eval" : missing});
    const auto end = steady_clock::now() + seconds(1);
    harness.run_until("a second has passed", [&] {
      // Decisions of one rule, of several, and resets: each needs other rights.
      TestCall one(Action::take, {charge_});
      TestCall several(Action::take, {charge_, charge_of(allowance_, 2)});
      TestCall reset(Action::reset, {charge_});
      for (TestCall* const call : {&one, &several, &reset}) harness.run(*call);
      return steady_clock::now() > end;
    });
    EXPECT_LE(harness.store().stats().breaker_opened, 1U) << missing;
    for (const BreakerChange& change : harness.changes) {
      EXPECT_EQ(change.trouble.cause, Cause::permission) << change.trouble.said;
    }
    server_.ask({"ACL", "SETUSER", "default", "+@all"});
    harness.settle(charge_);
    EXPECT_EQ(harness.store().stats().breaker(), BreakerState::closed) << missing;
  }
}

TEST_F(ServerError, AProbeFindsAServerWhoseScriptsWereFlushed) {
  StoreHarness harness(server_.url());
  harness.settle(charge_);
  server_.ask({"ACL", "SETUSER", "default", "-evalsha", "-eval"});
  EXPECT_EQ(trouble_of(harness).cause, Cause::permission);
  server_.ask({"SCRIPT", "FLUSH"});
  server_.ask({"ACL", "SETUSER", "default", "+@all"});
  harness.settle(charge_);
  EXPECT_EQ(harness.store().stats().connects, 1U) << "by the probe and not by connecting again";
}

TEST_F(ServerError, ProbesLeaveNothingBehind) {
  for (const char* time : {"redis", "node"}) {
    StoreHarness harness(server_.url() + "?time=" + time);
    harness.settle(charge_);
    server_.ask({"CONFIG", "SET", "maxmemory", "1"});
    EXPECT_EQ(trouble_of(harness).cause, Cause::memory);
    server_.ask({"CONFIG", "SET", "maxmemory", "0"});
    harness.run_until("the breaker closes", [&] { return harness.changes.back().state == BreakerState::closed; });
    EXPECT_EQ(server_.ask({"DBSIZE"}), "0");
  }
}

TEST_F(ServerError, TheCauseIsWhatRedisSaid) {
  {
    StoreHarness harness(server_.url(), milliseconds(50));
    harness.settle(charge_);
    server_.ask({"REPLICAOF", "127.0.0.1", "1"});
    const Trouble trouble = trouble_of(harness);
    EXPECT_EQ(trouble.cause, Cause::read_only);
    EXPECT_THAT(trouble.said, StartsWith("READONLY"));
    server_.ask({"REPLICAOF", "NO", "ONE"});
  }
  {
    StoreHarness harness(server_.url(), milliseconds(50));
    harness.settle(charge_);
    server_.freeze();
    const Trouble trouble = trouble_of(harness);
    EXPECT_EQ(trouble.cause, Cause::no_reply);
    EXPECT_EQ(trouble.said, "no reply for 50 ms");
    EXPECT_EQ(connecting_to(server_.url()).cause, Cause::no_reply) << "frozen from the start";
    server_.thaw();
  }
  {
    StoreHarness harness(server_.url(), milliseconds(50));
    harness.settle(charge_);
    server_.kill();
    const Trouble trouble = trouble_of(harness);
    EXPECT_TRUE(is_away(trouble.cause)) << trouble.said;
    EXPECT_NE(trouble.said, "");
    const Trouble refused = connecting_to(server_.url());
    EXPECT_EQ(refused.cause, Cause::unreachable);
    EXPECT_EQ(refused.said, "Connection refused");
  }
}

TEST_F(ServerError, WhyConnectingFailsIsToldBeforeAnyCall) {
  server_.ask({"CONFIG", "SET", "requirepass", "right"});
  const Trouble wrong = connecting_to("redis://:hunter2@127.0.0.1:" + port());
  EXPECT_EQ(wrong.cause, Cause::auth);
  EXPECT_THAT(wrong.said, AllOf(StartsWith("WRONGPASS"), Not(HasSubstr("hunter2"))));
  const Trouble none = connecting_to("redis://127.0.0.1:" + port());
  EXPECT_EQ(none.cause, Cause::auth);
  EXPECT_THAT(none.said, StartsWith("NOAUTH"));
  const Trouble database = connecting_to("redis://:right@127.0.0.1:" + port() + "/99");
  EXPECT_EQ(database.cause, Cause::database);
  EXPECT_THAT(database.said, HasSubstr("DB index is out of range"));

  SideClient side(server_.port());
  side.ask({"AUTH", "right"});
  side.ask({"ACL", "SETUSER", "poor", "on", ">hunter2", "~*", "-@all", "+client"});
  const Trouble poor = connecting_to("redis://poor:hunter2@127.0.0.1:" + port());
  EXPECT_EQ(poor.cause, Cause::permission);
  EXPECT_THAT(poor.said, StartsWith("NOPERM"));

  // It does not speak TLS, and waits for more.
  const Trouble plain = connecting_to("rediss://127.0.0.1:" + port());
  EXPECT_EQ(plain.cause, Cause::no_reply);
  EXPECT_THAT(plain.said, HasSubstr("TLS"));
  EXPECT_EQ(connecting_to("redis://" + std::string(80, 'x') + ":1").cause, Cause::address);
  EXPECT_EQ(connecting_to("redis+unix:///" + std::string(300, 'x')).cause, Cause::address);
}

}  // namespace
}  // namespace weir::redis::testing
