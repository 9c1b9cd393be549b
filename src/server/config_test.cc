#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "server/config_value.h"
#include "server/listener_settings.h"
#include "server/redis_settings.h"

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weir-config-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    file_ = folder_ / "weir.yaml";
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<Config> load(const std::string& yaml) {
    std::ofstream(file_) << yaml;
    sources_.file = file_;
    sources_.variable = [this](const std::string& name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
    return load_config(sources_);
  }
  // The failure of this file, with the folder taken off.
  std::string fault(const std::string& yaml) {
    const Result<Config> config = load(yaml);
    if (config.ok()) return "loaded";
    std::string message = config.failure().message;
    if (const std::size_t at = message.find(folder_.string() + "/"); at != std::string::npos) {
      message.erase(at, folder_.string().size() + 1);
    }
    return message;
  }

  fs::path folder_;
  fs::path file_;
  ConfigSources sources_;
  std::map<std::string, std::string> variables_;
};

TEST(ConfigValue, SharesAreReadAsFractionsAndDecimals) {
  EXPECT_EQ(parse_share("off").value(), 0);
  EXPECT_EQ(parse_share("1").value(), 1'000'000);
  EXPECT_EQ(parse_share("1/100").value(), 10'000);
  EXPECT_EQ(parse_share("1/3").value(), 333'334) << "rounded up, so that no share becomes none";
  EXPECT_EQ(parse_share("0.01").value(), 10'000);
  EXPECT_EQ(parse_share("0.000001").value(), 1);
  for (const char* text :
       {"", "2", "1.0", "-1", "0.", "0.x", "1/0", "1/", "1/1000001", "2/3", "0.0000001", "1%", " 1", "0.1e1"}) {
    ASSERT_FALSE(parse_share(text).ok()) << text;
    EXPECT_THAT(parse_share(text).failure().message, HasSubstr("expected off, or a share")) << text;
  }
}

TEST_F(ConfigTest, DefaultsListenOnLoopbackOnly) {
  const Result<Config> config = load_config({});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config.value().listen_http, "127.0.0.1:8080");
  EXPECT_EQ(config.value().listen_admin, "127.0.0.1:8082");
  EXPECT_EQ(config.value().listen_grpc, "off");
  EXPECT_EQ(config.value().store, "memory");
  EXPECT_TRUE(config.value().rules_path.empty());
  EXPECT_EQ(config.value().memory_max_bytes, 256 << 20);
  EXPECT_EQ(config.value().drain_timeout, std::chrono::seconds(10));
}

TEST_F(ConfigTest, AFlagWinsOverAVariableAVariableOverTheFileTheFileOverTheDefault) {
  const std::string yaml = "log: {level: warn, format: json}\nloops: 3\nlisten: {http: '127.0.0.1:1'}\n";
  variables_ = {{"WEIR_LOOPS", "4"}, {"WEIR_LISTEN_HTTP", "127.0.0.1:2"}};
  sources_.flags = {{"listen.http", "127.0.0.1:3"}};
  const Result<Config> config = load(yaml);
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config.value().listen_admin, "127.0.0.1:8082") << "default";
  EXPECT_EQ(config.value().log_level, "warn") << "file";
  EXPECT_EQ(config.value().loops, 4) << "variable";
  EXPECT_EQ(config.value().listen_http, "127.0.0.1:3") << "flag";
}

TEST_F(ConfigTest, AnEmptyVariableIsNoVariable) {
  variables_ = {{"WEIR_LOOPS", ""}};
  EXPECT_TRUE(load("").ok());
}

TEST_F(ConfigTest, EveryFieldHasOneNameInAllThreePlaces) {
  for (const ConfigField& field : config_fields()) {
    EXPECT_FALSE(field.help.empty()) << field.name;
    EXPECT_THAT(flag_of(field), testing::MatchesRegex("--[a-z0-9-]+"));
    EXPECT_THAT(variable_of(field), testing::MatchesRegex("WEIR_[A-Z0-9_]+"));
  }
  const auto named = [](std::string_view name) {
    return *std::find_if(config_fields().begin(), config_fields().end(),
                         [&](const auto& each) { return each.name == name; });
  };
  EXPECT_EQ(flag_of(named("memory.max_bytes")), "--memory-max-bytes");
  EXPECT_EQ(variable_of(named("memory.max_bytes")), "WEIR_MEMORY_MAX_BYTES");
  EXPECT_EQ(flag_of(named("rules.path")), "--rules");
  EXPECT_EQ(variable_of(named("rules.format")), "WEIR_RULES_FORMAT");
}

TEST_F(ConfigTest, PathsInTheFileAreRelativeToItAndOthersAreNot) {
  variables_ = {{"WEIR_HASH_KEY_FILE", "key"}};
  const Result<Config> config =
      load("rules: rules.d\nmemory: {snapshot: /var/lib/weir/snapshot}\nlisten: {http: 'unix:s'}\n");
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config.value().rules_path, folder_ / "rules.d");
  EXPECT_EQ(config.value().memory_snapshot, "/var/lib/weir/snapshot");
  EXPECT_EQ(config.value().hash_key_file, "key");
  EXPECT_EQ(config.value().listen_http, "unix:" + (folder_ / "s").string());
}

TEST_F(ConfigTest, RulesAreAPathOrAMapWithTheirFormat) {
  EXPECT_EQ(load("rules: rules.d").value().rules_format, "weir");
  const Result<Config> config = load("rules: {format: envoy, path: config}");
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config.value().rules_format, "envoy");
  EXPECT_EQ(config.value().rules_path, folder_ / "config");
  EXPECT_THAT(load("rules: {format: kong}").failure().message, HasSubstr(":1:17: rules.format: is 'kong', expected"));
  EXPECT_THAT(load("rules: [a, b]").failure().message, HasSubstr("rules: is a value, expected a map"));
  variables_ = {{"WEIR_RULES", "here"}, {"WEIR_RULES_FORMAT", "limitador"}};
  EXPECT_EQ(load("rules: rules.d").value().rules_path, "here");
  EXPECT_EQ(load("rules: rules.d").value().rules_format, "limitador");
}

TEST_F(ConfigTest, ListsAreSequencesOrTextsWithCommas) {
  EXPECT_THAT(load("admin: {tokens: ['a,b', c]}").value().admin_tokens, ElementsAre("a,b", "c"));
  EXPECT_THAT(load("admin: {tokens: 'one, two'}").value().admin_tokens, ElementsAre("one", "two"));
  EXPECT_TRUE(load("admin: {tokens: []}").value().admin_tokens.empty());
}

TEST_F(ConfigTest, FaultsNameFileLineColumnAndField) {
  EXPECT_EQ(fault("listen:\n  htp: 127.0.0.1:80\n"),
            "weir.yaml:2:8: listen.htp: is not a field (did you mean listen.http?); `weir serve --help` lists them");
  EXPECT_THAT(fault("rulez: x\n"), StartsWith("weir.yaml:1:8: rulez: is not a field"));
  EXPECT_THAT(fault("rulez: {}\n"), StartsWith("weir.yaml:1:1: rulez: is not a field"));
  EXPECT_EQ(fault("loops: many\n"), "weir.yaml:1:8: loops: is 'many', expected a whole number from 0 to 256");
  EXPECT_THAT(fault("loops: -1\n"), HasSubstr("expected a whole number"));
  EXPECT_THAT(fault("loops: 257\n"), HasSubstr("from 0 to 256"));
  EXPECT_EQ(fault("loops: [1]\n"), "weir.yaml:1:8: loops: is a list, expected one value");
  EXPECT_THAT(fault("loops: {a: 1}\n"), StartsWith("weir.yaml:1:1: loops: is a map"));
  EXPECT_THAT(fault("listen: off\n"), HasSubstr("listen: is a value, expected a map"));
  EXPECT_THAT(fault("listen: {http: {a: b}}\n"), HasSubstr("listen.http: is a map, expected a value"));
  EXPECT_THAT(fault("memory: {max_bytes: 256Mib}\n"), HasSubstr("memory.max_bytes: is '256Mib', expected a size"));
  EXPECT_THAT(fault("memory: {max_bytes: 1KiB}\n"), HasSubstr("from 1MiB to 4096GiB"));
  EXPECT_THAT(fault("memory: {max_bytes: 99999999999GiB}\n"), HasSubstr("expected a size")) << "64-bit overflow";
  EXPECT_THAT(fault("drain_timeout: 10\n"), HasSubstr("is '10', expected a time such as"));
  EXPECT_THAT(fault("log: {format: xml}\n"), HasSubstr("log.format: is 'xml', expected text or json"));
  EXPECT_THAT(fault("prefilter: 1\n"), HasSubstr("expected true or false"));
  EXPECT_THAT(fault("listen: {http: nowhere}\n"), StartsWith("weir.yaml:1:16: listen.http: "));
  EXPECT_THAT(fault("admin: {tokens: ['']}\n"), HasSubstr("admin.tokens: has an entry that is empty"));
  EXPECT_THAT(fault("- a\n"), HasSubstr("expected settings"));
  EXPECT_THAT(fault("loops: 1\nloops: 2\n"), StartsWith("weir.yaml:2:")) << "a field twice";
  EXPECT_THAT(fault("a: [\n"), StartsWith("weir.yaml:"));
}

TEST_F(ConfigTest, FaultsOfFlagsAndVariablesNameThem) {
  variables_ = {{"WEIR_LOOPS", "x"}};
  EXPECT_THAT(fault(""), StartsWith("WEIR_LOOPS: is 'x'"));
  variables_.clear();
  sources_.flags = {{"drain_timeout", "soon"}};
  EXPECT_THAT(fault(""), StartsWith("--drain-timeout: is 'soon'"));
}

TEST_F(ConfigTest, HeadersAreAListThatMayBeEmpty) {
  EXPECT_EQ(header_options(load("").value()), render::HeaderOptions{});
  EXPECT_EQ(header_options(load("http: {headers: []}\n").value()), (render::HeaderOptions{.ietf = false}));
  EXPECT_EQ(header_options(load("http: {headers: off}\n").value()), (render::HeaderOptions{.ietf = false}));
  EXPECT_EQ(header_options(load("http: {headers: [x-ratelimit, ratelimit-legacy], reset: unix-time}\n").value()),
            (render::HeaderOptions{
                .ietf = false, .x_ratelimit = true, .ratelimit_legacy = true, .reset_as_unix_time = true}));
  EXPECT_EQ(fault("http: {headers: [ietf, legacy]}\n"),
            "weir.yaml:1:17: http.headers: has the entry 'legacy', expected ietf, x-ratelimit or ratelimit-legacy, or "
            "off alone");
  EXPECT_THAT(fault("http: {headers: [ietf, ietf]}\n"), HasSubstr("http.headers: has 'ietf' twice"));
  EXPECT_THAT(fault("http: {reset: minutes}\n"), HasSubstr("http.reset: is 'minutes', expected seconds or unix-time"));
  variables_ = {{"WEIR_HTTP_HEADERS", "off"}};
  EXPECT_EQ(header_options(load("").value()), (render::HeaderOptions{.ietf = false}));
}

TEST_F(ConfigTest, ASettingThatWasReplacedNamesItsSuccessor) {
  EXPECT_EQ(fault("http: {legacy_headers: true}\n"),
            "weir.yaml:1:24: http.legacy_headers: is now written http.headers: [ietf, x-ratelimit]");
}

TEST_F(ConfigTest, WhatComesLaterIsRefusedAndSaysSo) {
  EXPECT_EQ(fault("ledger: sqlite:weir.db\n"), "weir.yaml:1:9: ledger: is not supported by this version yet");
  EXPECT_THAT(fault("store: postgres\n"), HasSubstr("store: is 'postgres', expected memory or redis://"));
}

TEST_F(ConfigTest, ARedisUrlSelectsRedisWithItsSettings) {
  const Result<Config> config = load(
      "store: rediss://weir:secret@cache:6380/2?time=node\n"
      "redis: {deadline: 35ms, connect_timeout: 2s, time: redis, connections: 3, max_in_flight: 77, tls_ca: ca.pem}\n"
      "prefilter: false\n");
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_TRUE(uses_redis(config.value()));
  EXPECT_FALSE(config.value().prefilter);
  const redis::RedisOptions options = redis_options(config.value()).value();
  EXPECT_EQ(servers_text(options), "cache:6380");
  EXPECT_EQ(options.password, "secret");
  EXPECT_EQ(options.database, 2);
  EXPECT_EQ(options.deadline, std::chrono::milliseconds(35));
  EXPECT_EQ(options.connect_timeout, std::chrono::seconds(2));
  EXPECT_EQ(options.connections, 3U);
  EXPECT_EQ(options.max_in_flight, 77U);
  EXPECT_EQ(options.tls.ca_file, (folder_ / "ca.pem").string());
  EXPECT_EQ(options.time, redis::TimeSource::node) << "the URL's query wins over the settings";
}

TEST_F(ConfigTest, TheSettingsOfRedisStartFromItsDefaults) {
  const Result<Config> config = load("store: redis://localhost?in_flight=9\n");
  ASSERT_TRUE(config.ok()) << config.failure().message;
  const redis::RedisOptions options = redis_options(config.value()).value();
  const redis::RedisOptions defaults;
  EXPECT_EQ(options.deadline, defaults.deadline);
  EXPECT_EQ(options.connect_timeout, defaults.connect_timeout);
  EXPECT_EQ(options.connections, defaults.connections);
  EXPECT_EQ(options.max_in_flight, 9U);
  EXPECT_EQ(options.time, defaults.time);
  EXPECT_FALSE(options.tls.enabled);
}

TEST_F(ConfigTest, AFaultyStoreNeverShowsItsPassword) {
  for (const char* url : {"redis://user:secret@host:port", "redis:/user:secret@host", "reddis://user:secret@host",
                          "user:secret@host", "secret@host", "redis://user:secret@host?deadline=never"}) {
    const std::string message = fault(std::string("store: '") + url + "'\n");
    EXPECT_THAT(message, StartsWith("weir.yaml:1:8: store: ")) << url;
    EXPECT_THAT(message, testing::Not(HasSubstr("secret"))) << url;
  }
}

TEST_F(ConfigTest, TlsFilesNeedAStoreOverTls) {
  EXPECT_THAT(fault("store: redis://host\nredis: {tls_ca: ca.pem}\n"), HasSubstr("redis.tls_ca: is set, but"));
  EXPECT_THAT(fault("store: rediss://host\nredis: {tls_key: k.pem}\n"), HasSubstr("a certificate needs its key"));
  EXPECT_EQ(fault("redis: {tls_ca: ca.pem}\n"), "loaded") << "without Redis they mean nothing";
}

TEST_F(ConfigTest, MapsOfTextsComeFromTheFileOrAFlag) {
  const Result<Config> file = load("identity:\n  attributes: {tenant: 'jwt:org', user: jwt:sub}\n  tiers: {}\n");
  ASSERT_TRUE(file.ok()) << file.failure().message;
  EXPECT_THAT(file.value().identity_attributes,
              ElementsAre(NamedText{"tenant", "jwt:org"}, NamedText{"user", "jwt:sub"}));
  EXPECT_TRUE(file.value().identity_tiers.empty());
  EXPECT_EQ(place_of(file.value(), "identity.attributes.user"), (folder_ / "weir.yaml").string() + ":2:41");
  EXPECT_EQ(place_of(file.value(), "identity.routes"), "");
  sources_.flags = {{"identity.routes", "GET /a=a, POST /b=b 2"}};
  const Result<Config> flag = load("");
  ASSERT_TRUE(flag.ok()) << flag.failure().message;
  EXPECT_THAT(flag.value().identity_routes, ElementsAre(NamedText{"GET /a", "a"}, NamedText{"POST /b", "b 2"}));
  EXPECT_EQ(place_of(flag.value(), "identity.routes"), "--identity-routes");
  sources_.flags = {{"identity.routes", "GET /a"}};
  EXPECT_THAT(fault(""), HasSubstr("--identity-routes: has the entry 'GET /a', expected entries such as 'name=text'"));
  sources_.flags.clear();
  EXPECT_THAT(fault("identity: {attributes: [a]}\n"), HasSubstr("identity.attributes: is a list"));
  EXPECT_THAT(fault("identity: {attributes: {a: [b]}}\n"),
              StartsWith("weir.yaml:1:25: identity.attributes.a: is not a text"));
  EXPECT_THAT(fault("identity: {ipv6_prefix: 129}\n"), HasSubstr("identity.ipv6_prefix: is '129'"));
}

TEST_F(ConfigTest, AFormatNeedsRulesOfThatFormat) {
  EXPECT_EQ(fault("rules: {format: envoy}\n"), "weir.yaml:1:17: rules.format: is 'envoy', but rules.path is not set");
  EXPECT_EQ(fault("rules: {format: weir}\n"), "loaded");
  EXPECT_EQ(fault("rules: {format: limitador, path: limits.yaml}\n"), "loaded");
}

TEST_F(ConfigTest, AServerThatWouldNotListenIsRefused) {
  EXPECT_THAT(fault("listen: {http: off, admin: off}\n"), HasSubstr("nothing would listen"));
  EXPECT_EQ(fault("listen: {http: off, admin: off, resp: '127.0.0.1:0'}\n"), "loaded");
}

TEST_F(ConfigTest, TheProxyProtocolIsForListenersThatExist) {
  EXPECT_EQ(fault("listen: {proxy_protocol: [http, grpc, resp]}\n"), "loaded");
  EXPECT_THAT(fault("listen: {proxy_protocol: [htpp]}\n"), HasSubstr("'htpp' (did you mean http?)"));
  EXPECT_EQ(fault("listen: {proxy_protocol: [http, admin]}\n"),
            "weir.yaml:1:26: listen.proxy_protocol: has the entry 'admin', expected http, grpc or resp");
}

TEST_F(ConfigTest, CertificatesOfOperatorsNeedAnAuthorityAndRolesThatExist) {
  EXPECT_THAT(fault("admin: {certificates: {ada: admin}}\n"), HasSubstr("admin.certificates: needs tls.client_ca"));
  const std::string tls = "tls: {cert: c.pem, key: k.pem, client_ca: ca.pem}\n";
  EXPECT_THAT(fault(tls + "admin: {certificates: {ada: root}}\n"),
              HasSubstr("weir.yaml:2:29: admin.certificates: 'ada' has the role 'root', expected reader, operator or "
                        "admin"));
}

TEST_F(ConfigTest, AMissingFileAndAFolderAreFaults) {
  EXPECT_THAT(load_config({.file = folder_ / "none.yaml", .flags = {}, .variable = {}}).failure().message,
              HasSubstr("none.yaml: No such file"));
  EXPECT_THAT(load_config({.file = folder_, .flags = {}, .variable = {}}).failure().message,
              HasSubstr("not a regular file"));
}

TEST_F(ConfigTest, TheDataFolderIsWhereTheSystemKeepsStateUnlessOneIsSet) {
  EXPECT_EQ(load("").value().data_dir, "") << "no variable says where";
  variables_["HOME"] = "/home/ada";
  EXPECT_EQ(load("").value().data_dir, "/home/ada/.local/state/weir");
  variables_["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(load("").value().data_dir, "/state/weir");
  variables_["STATE_DIRECTORY"] = "/var/lib/weir:/var/lib/other";
  EXPECT_EQ(load("").value().data_dir, "/var/lib/weir");
  EXPECT_EQ(load("data_dir: state\n").value().data_dir, folder_ / "state");
}

TEST_F(ConfigTest, TheDatabaseIsCheckedAndItsPasswordNotRepeated) {
  EXPECT_EQ(fault("database: postgres://ada:secret@db/weir\n"), "loaded");
  EXPECT_EQ(fault("database: off\n"), "loaded");
  EXPECT_EQ(fault("database: mysql://ada:secret@db/weir\n"),
            "weir.yaml:1:11: database: expected sqlite:PATH, postgres://USER@HOST/DATABASE, or off");
  EXPECT_EQ(fault("node: {name: a b}\n"),
            "weir.yaml:1:14: node.name: is 'a b', expected at most 64 letters, digits, '.', '_' and '-'");
}

TEST_F(ConfigTest, RulesInTheDatabaseNeedOneAndAreNoFolder) {
  EXPECT_TRUE(rules_in_database(load("rules: database\n").value()));
  EXPECT_FALSE(rules_in_database(load("rules: ./database\n").value()));
  EXPECT_EQ(fault("rules: database\ndatabase: off\n"), "weir.yaml:1:8: rules.path: is 'database', but database is off");
  EXPECT_EQ(fault("rules: {path: database, format: envoy}\n"),
            "weir.yaml:1:33: rules.format: is 'envoy', but rules in the database are in Weir's own format");
}

TEST_F(ConfigTest, TheReferenceLoadsAndChangesNothing) {
  const Result<Config> config = load(reference_config());
  ASSERT_TRUE(config.ok()) << config.failure().message;
  const Config defaults = load_config({}).value();
  for (const ConfigField& field : config_fields()) {
    std::visit([&](auto member) { EXPECT_EQ(config.value().*member, defaults.*member) << field.name; }, field.member);
  }
}

TEST_F(ConfigTest, TheReferenceInDeployIsCurrent) {
  const fs::path deployed = fs::path(WEIR_SOURCE_DIR) / "deploy/weir.yaml";
  std::ostringstream text;
  text << std::ifstream(deployed).rdbuf();
  EXPECT_EQ(text.str(), reference_config()) << "run: weir serve --print-config > deploy/weir.yaml";
}

TEST_F(ConfigTest, TheGatewaysTimeNeedsRedisAndAHeaderThatCanBe) {
  EXPECT_EQ(fault("redis: {time: gateway}\n"), "weir.yaml:1:15: redis.time: is 'gateway', but the store is not Redis");
  EXPECT_EQ(fault("redis: {time_header: \"x start\"}\n"),
            "weir.yaml:1:22: redis.time_header: is 'x start', expected a header's name");
  EXPECT_THAT(fault("redis: {time_header: \"\"}\n"), testing::HasSubstr("expected a header's name"));
  EXPECT_THAT(fault("redis: {time: sundial}\n"), testing::HasSubstr("redis.time: is 'sundial'"));
  EXPECT_THAT(fault("redis: {time_bound: 61s}\n"), testing::HasSubstr("redis.time_bound"));
  EXPECT_THAT(fault("redis: {time_bound: 0s}\n"), testing::HasSubstr("redis.time_bound"));
}

TEST_F(ConfigTest, ANamespaceIsShortAndPlainAndNeedsRedis) {
  EXPECT_EQ(fault("redis: {namespace: prod}\n"),
            "weir.yaml:1:20: redis.namespace: is 'prod', but the store is not Redis");
  EXPECT_EQ(fault("redis: {namespace: \"a{b}\"}\n"),
            "weir.yaml:1:20: redis.namespace: is 'a{b}', expected at most 64 letters, digits, '.', '_' and '-'");
}

TEST(ConfigValue, SizesAndTimesReadBackAsTheyWereWritten) {
  EXPECT_EQ(parse_size("64KiB", 0, 1 << 20).value(), 65536);
  EXPECT_EQ(parse_size("1 MB", 0, 1 << 20).value(), 1'000'000);
  EXPECT_EQ(parse_size("4096", 0, 1 << 20).value(), 4096);
  EXPECT_FALSE(parse_size("", 0, 1 << 20).ok());
  EXPECT_FALSE(parse_size("MiB", 0, 1 << 20).ok());
  EXPECT_FALSE(parse_size("-1", 0, 1 << 20).ok());
  EXPECT_EQ(parse_duration("1500ms", Duration(0), Duration(1 << 30)).value(), Duration(1'500'000));
  EXPECT_FALSE(parse_duration("1.5s", Duration(0), Duration(1 << 30)).ok());
  EXPECT_EQ(size_text(65536), "64KiB");
  EXPECT_EQ(duration_text(Duration(90'000'000)), "90s");
  EXPECT_EQ(duration_text(Duration(0)), "0s");
  EXPECT_FALSE(parse_list("a,,b").ok());
  EXPECT_FALSE(parse_list("a,").ok());
}

TEST(Config, AnUnknownVariableIsNotedWithTheNearestName) {
  ConfigSources sources;
  sources.variable_names = {"PATH",        "WEIR_RULES", "WEIR_RULE", "WEIR_LISTEN_HTPP",  "WEIR_CONFIG",
                            "WEIR_SERVER", "WEIR_TOKEN", "WEIR_PORT", "WEIR_SERVICE_HOST", "WEIR_PORT_8080_TCP_ADDR",
                            "WEIR_SPLASH"};
  const Result<Config> config = load_config(sources);
  ASSERT_TRUE(config.ok());
  const std::vector<NamedText> expected = {{"WEIR_RULE", " (did you mean WEIR_RULES?)"},
                                           {"WEIR_LISTEN_HTPP", " (did you mean WEIR_LISTEN_HTTP?)"},
                                           {"WEIR_SPLASH", ""}};
  EXPECT_EQ(config.value().unknown_variables, expected);
}

}  // namespace
}  // namespace weir::server
