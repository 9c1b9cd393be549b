#include "stores/redis/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::redis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RedisOptions parsed(std::string_view text) {
  auto options = parse_redis_url(text);
  EXPECT_TRUE(options.ok()) << text << ": " << (options.ok() ? "" : options.failure().message);
  return options.ok() ? options.value() : RedisOptions{};
}

TEST(RedisUrl, AHostIsEnough) {
  const RedisOptions options = parsed("redis://cache");
  EXPECT_EQ(options.topology, Topology::standalone);
  EXPECT_EQ(options.seeds, (std::vector<Address>{{"cache", 6379}}));
  EXPECT_EQ(options.deadline.count(), 20);
  EXPECT_EQ(options.time, TimeSource::redis);
  EXPECT_FALSE(options.tls.enabled);
}

TEST(RedisUrl, ReadsUserPasswordPortAndDatabase) {
  const RedisOptions options = parsed("redis://weir:s%3Acr%40t@10.0.0.1:6380/7");
  EXPECT_EQ(options.user, "weir");
  EXPECT_EQ(options.password, "s:cr@t");
  EXPECT_EQ(options.seeds[0], (Address{"10.0.0.1", 6380}));
  EXPECT_EQ(options.database, 7);
  EXPECT_EQ(parsed("redis://only-a-password@h").password, "only-a-password");
  EXPECT_EQ(parsed("redis://:p@[::1]:7000").seeds[0], (Address{"::1", 7000}));
  EXPECT_EQ(parsed("redis://p@ss@h").password, "p@ss");
}

TEST(RedisUrl, ReadsSentinelsAndTheirMaster) {
  const RedisOptions options = parsed("redis-sentinel://u:p@a:1,b,[::2]:3/main/4?sentinel_password=x");
  EXPECT_EQ(options.topology, Topology::sentinel);
  EXPECT_EQ(options.seeds, (std::vector<Address>{{"a", 1}, {"b", 26379}, {"::2", 3}}));
  EXPECT_EQ(options.master_name, "main");
  EXPECT_EQ(options.database, 4);
  EXPECT_EQ(options.sentinel_password, "x");
}

TEST(RedisUrl, ReadsClustersTlsAndUnixSockets) {
  EXPECT_EQ(parsed("redis-cluster://a,b:7").seeds, (std::vector<Address>{{"a", 6379}, {"b", 7}}));
  const RedisOptions tls = parsed("rediss://h?ca=/etc/ca%20file&cert=c&key=k&verify=off");
  EXPECT_TRUE(tls.tls.enabled);
  EXPECT_FALSE(tls.tls.verify);
  EXPECT_EQ(tls.tls.ca_file, "/etc/ca file");
  EXPECT_TRUE(parsed("rediss-cluster://h").tls.enabled);
  const RedisOptions local = parsed("redis+unix:///run/redis.sock?db=2");
  EXPECT_EQ(local.seeds[0], (Address{"/run/redis.sock", 0}));
  EXPECT_EQ(local.database, 2);
}

TEST(RedisUrl, ReadsSettings) {
  const RedisOptions options = parsed(
      "redis://h?deadline=35ms&connect_timeout=2s&connections=3&in_flight=99&time=node&name=edge&namespace=prod.eu-1");
  EXPECT_EQ(options.deadline.count(), 35);
  EXPECT_EQ(options.connect_timeout.count(), 2000);
  EXPECT_EQ(options.connections, 3U);
  EXPECT_EQ(options.max_in_flight, 99U);
  EXPECT_EQ(options.time, TimeSource::node);
  EXPECT_EQ(options.client_name, "edge");
  EXPECT_EQ(options.name_space, "prod.eu-1");
  EXPECT_EQ(parsed("redis://h?time=redis").time, TimeSource::redis);
  EXPECT_EQ(parsed("redis://h?time=gateway").time, TimeSource::gateway);
}

TEST(RedisUrl, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"memcached://h", "expected redis://"},
      {"redis://", "host is empty"},
      {"redis://h?namespace=a{b}", "setting 'namespace': expected at most 64 letters"},
      {"redis://h?namespace=", "setting 'namespace'"},
      {"redis://h:0", "port"},
      {"redis://h:65536", "port"},
      {"redis://h:", "port is empty"},
      {"redis://h:12x", "port"},
      {"redis://[::1", "']'"},
      {"redis://a,b", "one host"},
      {"redis://h/x", "database"},
      {"redis://h/-1", "database"},
      {"redis-cluster://h/1", "only database 0"},
      {"redis-sentinel://h", "master's name"},
      {"redis-sentinel://h/", "master's name"},
      {"redis+unix://relative", "absolute"},
      {"redis://h?colour=red", "unknown setting 'colour'"},
      {"redis://h?deadline=0", "'deadline'"},
      {"redis://h?deadline=soon", "'deadline'"},
      {"redis://h?deadline=99999s", "'deadline'"},
      {"redis://h?connections=65", "'connections'"},
      {"redis://h?time=lunar", "'time'"},
      {"redis://h?verify=perhaps", "'verify'"},
      {"redis://h?deadline", "name=value"},
      {"rediss://h?cert=c", "go together"},
      {"redis://h?name=%4", "%-escape"},
  };
  for (const auto& [text, expected] : cases) {
    const auto options = parse_redis_url(text);
    ASSERT_FALSE(options.ok()) << text;
    EXPECT_EQ(options.failure().code, Code::invalid_argument);
    EXPECT_THAT(options.failure().message, HasSubstr(expected)) << text;
  }
  EXPECT_FALSE(parse_redis_url("redis://" + std::string(5000, 'h')).ok());
}

TEST(RedisUrl, ErrorsNeverRepeatThePassword) {
  for (const char* text :
       {"redis://u:hunter2%zz@h", "redis://u:hunter2@h:x", "redis://hunter2@h/q", "redis://:hunter2@h?x=1",
        "redis-sentinel://h/m?sentinel_password=hunter2%", "redis://h:hunter2"}) {
    const auto options = parse_redis_url(text);
    ASSERT_FALSE(options.ok()) << text;
    EXPECT_THAT(options.failure().message, Not(HasSubstr("hunter2"))) << text;
  }
}

}  // namespace
}  // namespace weir::redis
