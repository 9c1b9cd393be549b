// TLS, ACL users and what a wrong password looks like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::seconds;

const Allowance& allowance() {
  static const Allowance instance = allowance_of(Algorithm::gcra, 5, seconds(3600));
  return instance;
}

TEST(Acl, AUserWithTheFewRightsThatAreNeededIsEnough) {
  RedisServer server;
  server.ask({"ACL", "SETUSER", "weir", "on", ">p@ss:w/rd", "resetkeys", "~w1:*", "-@all", "+eval", "+evalsha",
              "+script|load", "+get", "+mget", "+set", "+del", "+time"});
  StoreHarness harness("redis://weir:p%40ss%3Aw%2Frd@127.0.0.1:" + std::to_string(server.port()));
  const Charge charge = charge_of(allowance(), 1);
  EXPECT_TRUE(harness.take(charge));
  TestCall several(Action::take, {charge, charge_of(allowance(), 2)});
  harness.run(several);
  EXPECT_EQ(several.status, Code::ok);
  TestCall reset(Action::reset, {charge});
  harness.run(reset);
  EXPECT_EQ(reset.status, Code::ok);
}

// The password of the sentinels is another than that of the servers.
TEST(Acl, SentinelsMayAskForAPassword) {
  ServerSetup setup;
  setup.arguments = {"--requirepass", "of-the-master"};
  const RedisServer server(setup);
  ServerSetup watching;
  watching.sentinel = true;
  watching.configuration = "requirepass of-the-sentinel\nsentinel monitor weir 127.0.0.1 " +
                           std::to_string(server.port()) + " 1\nsentinel auth-pass weir of-the-master\n";
  const RedisServer sentinel(watching);
  const std::string url = "redis-sentinel://:of-the-master@127.0.0.1:" + std::to_string(sentinel.port()) + "/weir";
  StoreHarness harness(url + "?sentinel_password=of-the-sentinel");
  harness.settle(charge_of(allowance(), 2));
  EXPECT_TRUE(harness.take(charge_of(allowance(), 1)));
  StoreHarness without(url, std::chrono::milliseconds(20));
  TestCall call(Action::take, {charge_of(allowance(), 1)});
  without.run(call);
  EXPECT_EQ(call.status, Code::unavailable) << "the sentinel tells no one else who the master is";
}

TEST(Acl, AWrongPasswordIsAFailureThatNamesNoSecret) {
  ServerSetup setup;
  setup.arguments = {"--requirepass", "right"};
  const RedisServer server(setup);
  StoreHarness harness("redis://:wrong-secret@127.0.0.1:" + std::to_string(server.port()),
                       std::chrono::milliseconds(20));
  harness.run_until("the breaker opens", [&] {
    TestCall call(Action::take, {charge_of(allowance(), 1)});
    harness.run(call);
    EXPECT_NE(call.status, Code::ok);
    return !harness.changes.empty();
  });
  EXPECT_THAT(harness.changes[0].trouble.said, ::testing::Not(::testing::HasSubstr("wrong-secret")));

  StoreHarness right("redis://:right@127.0.0.1:" + std::to_string(server.port()));
  EXPECT_TRUE(right.take(charge_of(allowance(), 1)));
}

class Tls : public ::testing::Test {
 protected:
  // An authority, and a certificate of it for 127.0.0.1, which server and client both show.
  Tls() {
    const std::string folder = certificates_.path().string();
    const std::string commands =
        "cd " + folder +
        " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj "
        "/CN=ca "
        "-days 2 && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout node.key -out node.csr "
        "-subj "
        "/CN=127.0.0.1 && printf 'subjectAltName=IP:127.0.0.1' > ext && openssl x509 -req -in node.csr -CA ca.crt "
        "-CAkey "
        "ca.key -CAcreateserial -out node.crt -days 2 -extfile ext && openssl req -x509 -newkey ec -pkeyopt "
        "ec_paramgen_curve:P-256 -nodes -keyout other.key -out other.crt -subj /CN=other -days 2";
    if (std::system(("(" + commands + ") > " + folder + "/log 2>&1").c_str()) != 0) {
      throw std::runtime_error("openssl could not make certificates");
    }
    port_ = free_port();
    ServerSetup setup;
    setup.arguments = {"--tls-port",     std::to_string(port_), "--tls-cert-file",    file("node.crt"),
                       "--tls-key-file", file("node.key"),      "--tls-ca-cert-file", file("ca.crt")};
    server_ = std::make_unique<RedisServer>(setup);
  }
  std::string file(const std::string& name) const { return (certificates_.path() / name).string(); }
  std::string url(const std::string& ca) const {
    return "rediss://127.0.0.1:" + std::to_string(port_) + "?ca=" + file(ca) + "&cert=" + file("node.crt") +
           "&key=" + file("node.key");
  }

  TempFolder certificates_;
  std::uint16_t port_ = 0;
  std::unique_ptr<RedisServer> server_;
};

TEST_F(Tls, DecidesOverAnEncryptedConnection) {
  StoreHarness harness(url("ca.crt"));
  const Charge charge = charge_of(allowance(), 1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(harness.take(charge));
  EXPECT_FALSE(harness.take(charge));
}

TEST_F(Tls, AServerOfAnotherAuthorityIsRefused) {
  StoreHarness harness(url("other.crt"), std::chrono::milliseconds(50));
  harness.run_until("the breaker opens", [&] {
    TestCall call(Action::take, {charge_of(allowance(), 1)});
    harness.run(call);
    EXPECT_NE(call.status, Code::ok);
    return !harness.changes.empty();
  });
  EXPECT_EQ(harness.store().stats().connects, 0U);
  EXPECT_EQ(harness.changes[0].trouble.cause, Cause::certificate);
  EXPECT_THAT(harness.changes[0].trouble.said, ::testing::HasSubstr("certificate"));
}

TEST_F(Tls, WhatTlsSaidIsTold) {
  const auto connecting_to = [](const std::string& url) {
    StoreHarness harness(url);
    harness.run_until("connecting fails", [&] { return !harness.connect_failures.empty(); });
    return harness.connect_failures[0];
  };
  const std::string port = std::to_string(port_);
  const std::string own = "&cert=" + file("node.crt") + "&key=" + file("node.key");
  const Trouble name = connecting_to("rediss://localhost:" + port + "?ca=" + file("ca.crt") + own);
  EXPECT_EQ(name.cause, Cause::host_name) << "the certificate is for 127.0.0.1";
  EXPECT_THAT(name.said, ::testing::HasSubstr("localhost"));
  EXPECT_EQ(connecting_to("rediss://127.0.0.1:" + port + "?ca=" + file("other.crt") + own).cause, Cause::certificate);
  // The server wants to see a certificate. It says so after our side of the handshake is done, and then ends the
  // connection; what it said is lost if the end is noticed first.
  const Trouble nobody = connecting_to("rediss://127.0.0.1:" + port + "?ca=" + file("ca.crt"));
  EXPECT_TRUE(nobody.cause == Cause::tls || nobody.cause == Cause::lost) << cause_word(nobody.cause);
  EXPECT_NE(nobody.said, "");
  const Trouble plain = connecting_to("redis://127.0.0.1:" + port);
  EXPECT_TRUE(plain.cause == Cause::protocol || plain.cause == Cause::lost) << cause_word(plain.cause);
}

TEST_F(Tls, WithoutVerificationTheNameDoesNotMatter) {
  StoreHarness harness("rediss://localhost:" + std::to_string(port_) + "?verify=off&cert=" + file("node.crt") +
                       "&key=" + file("node.key"));
  EXPECT_TRUE(harness.take(charge_of(allowance(), 1)));
}

TEST_F(Tls, FilesThatCannotBeReadAreSaidAtOnce) {
  boost::asio::io_context loop;
  const auto store = RedisStore::open(loop, parse_redis_url("rediss://127.0.0.1:1?ca=/nowhere.crt").value());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.failure().code, Code::invalid_argument);
}

}  // namespace
}  // namespace weir::redis::testing
