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
      {"rediss://h?cert=c", "must be set together"},
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

bool accepted(const std::string& text) { return parse_redis_url(text).ok(); }

TEST(RedisUrl, NumbersPassUpToTheirBounds) {
  const struct {
    std::string url;
    std::int64_t least;
    std::int64_t most;
  } kNumbers[] = {
      {"redis://h:", 1, 65535},
      {"redis://[::1]:", 1, 65535},
      {"redis://h/", 0, 1'000'000},
      {"redis://h?db=", 0, 1'000'000},
      {"redis-cluster://h?db=", 0, 0},
      {"redis://h?connections=", 1, kMaxConnections},
      {"redis://h?in_flight=", 1, kMaxInFlight},
      {"redis://h?deadline=", 1, 60'000},
      {"redis://h?connect_timeout=", 1, 60'000},
  };
  for (const auto& number : kNumbers) {
    EXPECT_TRUE(accepted(number.url + std::to_string(number.least))) << number.url;
    EXPECT_TRUE(accepted(number.url + std::to_string(number.most))) << number.url;
    EXPECT_FALSE(accepted(number.url + std::to_string(number.least - 1))) << number.url;
    EXPECT_FALSE(accepted(number.url + std::to_string(number.most + 1))) << number.url;
  }
  EXPECT_TRUE(accepted("redis://h?deadline=60s"));
  EXPECT_FALSE(accepted("redis://h?deadline=61s"));
  EXPECT_EQ(parsed("redis://h?deadline=60s").deadline.count(), 60'000);
  EXPECT_EQ(parsed("redis://h?deadline=7").deadline.count(), 7) << "without a unit: milliseconds";
}

TEST(RedisUrl, ListsAndTextsPassUpToTheirBounds) {
  const auto hosts = [](int count) {
    std::string text = "redis-cluster://h";
    for (int i = 1; i < count; ++i) text += ",h";
    return text;
  };
  EXPECT_EQ(parsed(hosts(64)).seeds.size(), 64U);
  EXPECT_FALSE(accepted(hosts(65)));
  EXPECT_TRUE(accepted("redis://" + std::string(4096 - 8, 'h')));
  EXPECT_FALSE(accepted("redis://" + std::string(4096 - 7, 'h')));
  EXPECT_TRUE(accepted("redis://h?namespace=" + std::string(kMaxNamespace, 'n')));
  EXPECT_FALSE(accepted("redis://h?namespace=" + std::string(kMaxNamespace + 1, 'n')));
}

TEST(RedisUrl, SwitchesHaveThreeSpellingsEach) {
  for (const char* on : {"on", "true", "1"}) {
    EXPECT_TRUE(parsed(std::string("redis://h?tls=") + on).tls.enabled) << on;
    EXPECT_TRUE(parsed(std::string("rediss://h?verify=") + on).tls.verify) << on;
  }
  for (const char* off : {"off", "false", "0"}) {
    EXPECT_FALSE(parsed(std::string("rediss://h?tls=") + off).tls.enabled) << off;
    EXPECT_FALSE(parsed(std::string("rediss://h?verify=") + off).tls.verify) << off;
  }
  EXPECT_TRUE(parsed("rediss://h").tls.verify) << "unless it is turned off";
}

TEST(RedisUrl, EverySettingReachesItsField) {
  const RedisOptions options = parsed(
      "rediss-sentinel://h/"
      "m?ca=A&cert=B&key=C&name=D&sentinel_user=E&sentinel_password=F&namespace=G&db=3&in_flight=5");
  EXPECT_EQ(options.tls.ca_file + options.tls.cert_file + options.tls.key_file + options.client_name +
                options.sentinel_user + options.sentinel_password + options.name_space,
            "ABCDEFG");
  EXPECT_EQ(options.database, 3);
  EXPECT_EQ(options.max_in_flight, 5U);
  EXPECT_EQ(options.master_name, "m");
  EXPECT_TRUE(options.tls.enabled);
  EXPECT_FALSE(accepted("rediss://h?key=C")) << "and the certificate?";
  EXPECT_TRUE(accepted("rediss://h?cert=B&key=C"));
}

TEST(RedisUrl, EscapesAreTwoDigitsAndMayEndTheText) {
  EXPECT_EQ(parsed("redis://h?name=a%41").client_name, "aA");
  EXPECT_EQ(parsed("redis://h?name=%7e%2F").client_name, "~/");
  EXPECT_EQ(parsed("redis://u%3A:p%40@h").user, "u:");
  EXPECT_EQ(parsed("redis-sentinel://h/m%2Fn").master_name, "m/n");
  for (const char* text : {"redis://h?name=%", "redis://h?name=%4", "redis://h?name=%4g", "redis://h?name=%g4",
                           "redis://%g1@h", "redis://u:%@h", "redis-sentinel://h/%zz"}) {
    EXPECT_FALSE(accepted(text)) << text;
  }
}

TEST(RedisUrl, AUserMayHaveNoPasswordAndAPasswordNoUser) {
  EXPECT_EQ(parsed("redis://u:@h").user, "u");
  EXPECT_EQ(parsed("redis://u:@h").password, "");
  EXPECT_EQ(parsed("redis://:p@h").user, "");
  EXPECT_EQ(parsed("redis://p@h").user, "");
  EXPECT_EQ(parsed("redis://p@h").password, "p");
}

TEST(RedisUrl, BracketsHoldAnAddressAndAPortMayFollow) {
  EXPECT_EQ(parsed("redis://[::1]").seeds[0], (Address{"::1", 6379}));
  EXPECT_EQ(parsed("redis-sentinel://[::1]/m").seeds[0], (Address{"::1", 26379}));
  for (const char* text : {"redis://[::1]x", "redis://[::1]:", "redis://[]", "redis://[::1]x:7", "redis://:7"}) {
    EXPECT_FALSE(accepted(text)) << text;
  }
}

TEST(RedisAddress, IsWrittenAsItIsRead) {
  EXPECT_EQ(to_text({"h", 7}), "h:7");
  EXPECT_EQ(to_text({"::1", 7}), "[::1]:7");
  EXPECT_EQ(to_text({"/run/redis.sock", 0}), "/run/redis.sock");
  EXPECT_TRUE(is_redis_url("rediss-cluster://h"));
  EXPECT_FALSE(is_redis_url("redis"));
  EXPECT_FALSE(is_redis_url("memory://h"));
  EXPECT_EQ(key_prefix(""), "w1:");
  EXPECT_EQ(key_prefix("eu"), "w1:eu:");
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
