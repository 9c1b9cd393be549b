#include "stores/redis/url.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace weir::redis {
namespace {

constexpr std::size_t kMaxUrl = 4096;
constexpr std::size_t kMaxSeeds = 64;
constexpr std::uint16_t kRedisPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr int kMaxDatabase = 1'000'000;
constexpr std::int64_t kMaxTimeoutMs = 60'000;

struct Scheme {
  std::string_view prefix;
  Topology topology;
  bool tls;
  bool unix_socket;
};
constexpr std::array<Scheme, 7> kSchemes{{
    {"redis://", Topology::standalone, false, false},
    {"rediss://", Topology::standalone, true, false},
    {"redis+unix://", Topology::standalone, false, true},
    {"redis-sentinel://", Topology::sentinel, false, false},
    {"rediss-sentinel://", Topology::sentinel, true, false},
    {"redis-cluster://", Topology::cluster, false, false},
    {"rediss-cluster://", Topology::cluster, true, false},
}};

Failure bad(std::string message) { return Failure{Code::invalid_argument, "store: " + std::move(message)}; }

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16);
    if (error != std::errc{} || end != &text[i + 1] + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text, Number low, Number high) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}

std::optional<std::chrono::milliseconds> parse_timeout(std::string_view text) {
  std::int64_t scale = 1;
  if (text.ends_with("ms")) {
    text.remove_suffix(2);
  } else if (text.ends_with("s")) {
    text.remove_suffix(1);
    scale = 1000;
  }
  const auto value = parse_number<std::int64_t>(text, 1, kMaxTimeoutMs / scale);
  if (!value) return std::nullopt;
  return std::chrono::milliseconds(*value * scale);
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "on" || text == "true" || text == "1") return true;
  if (text == "off" || text == "false" || text == "0") return false;
  return std::nullopt;
}

Result<Address> parse_address(std::string_view text, std::uint16_t default_port) {
  Address address{{}, default_port};
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return bad("an IPv6 address lacks its ']'");
    address.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.empty() && port.front() != ':') return bad("an IPv6 address is followed by something other than a port");
    if (!port.empty()) port.remove_prefix(1);
    if (text.ends_with(':')) return bad("a port is empty");
  } else {
    const auto colon = text.find(':');
    address.host = text.substr(0, colon);
    if (colon != std::string_view::npos) {
      port = text.substr(colon + 1);
      if (port.empty()) return bad("a port is empty");
    }
  }
  if (address.host.empty()) return bad("a host is empty");
  if (!port.empty()) {
    const auto number = parse_number<std::uint16_t>(port, 1, 65535);
    if (!number) return bad("a port is not a number from 1 to 65535");
    address.port = *number;
  }
  return address;
}

Status parse_hosts(std::string_view hosts, RedisOptions& options) {
  const std::uint16_t port = options.topology == Topology::sentinel ? kSentinelPort : kRedisPort;
  while (true) {
    const auto comma = hosts.find(',');
    auto address = parse_address(hosts.substr(0, comma), port);
    if (!address.ok()) return address.failure();
    options.seeds.push_back(std::move(address).value());
    if (options.seeds.size() > kMaxSeeds) return bad("more than 64 hosts");
    if (comma == std::string_view::npos) break;
    hosts.remove_prefix(comma + 1);
  }
  if (options.topology == Topology::standalone && options.seeds.size() != 1) {
    return bad("redis:// takes one host; use redis-sentinel:// or redis-cluster:// for several");
  }
  return success();
}

Status parse_credentials(std::string_view text, RedisOptions& options) {
  const auto colon = text.find(':');
  // Like redis-cli: a single word is a password, "user:" has an empty one.
  auto user = percent_decode(colon == std::string_view::npos ? std::string_view{} : text.substr(0, colon));
  auto password = percent_decode(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!user || !password) return bad("user or password has a broken %-escape");
  options.user = *std::move(user);
  options.password = *std::move(password);
  return success();
}

Status parse_database(std::string_view text, RedisOptions& options) {
  const auto number = parse_number<int>(text, 0, kMaxDatabase);
  if (!number) return bad("the database is not a number from 0 to 1000000");
  if (options.topology == Topology::cluster && *number != 0) return bad("a cluster has only database 0");
  options.database = *number;
  return success();
}

Status parse_path(std::string_view path, RedisOptions& options) {
  if (options.topology == Topology::sentinel) {
    const auto slash = path.find('/');
    auto name = percent_decode(path.substr(0, slash));
    if (!name || name->empty()) return bad("redis-sentinel:// needs the master's name: host:port,host:port/name");
    options.master_name = *std::move(name);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return path.empty() ? success() : parse_database(path, options);
}

// False: the value does not fit the setting.
bool apply_number_or_time(std::string_view name, const std::string& value, RedisOptions& options) {
  if (name == "deadline" || name == "connect_timeout") {
    const auto timeout = parse_timeout(value);
    if (timeout) (name == "deadline" ? options.deadline : options.connect_timeout) = *timeout;
    return timeout.has_value();
  }
  const bool connections = name == "connections";
  const auto number = parse_number<std::size_t>(value, 1, connections ? kMaxConnections : kMaxInFlight);
  if (number) (connections ? options.connections : options.max_in_flight) = *number;
  return number.has_value();
}

bool apply_switch(std::string_view name, const std::string& value, RedisOptions& options) {
  if (name == "time") {
    const std::optional<TimeSource> source = time_source_from_name(value);
    if (source) options.time = *source;
    return source.has_value();
  }
  const auto on = parse_switch(value);
  if (on) (name == "tls" ? options.tls.enabled : options.tls.verify) = *on;
  return on.has_value();
}

std::string* text_setting(std::string_view name, RedisOptions& options) {
  if (name == "ca") return &options.tls.ca_file;
  if (name == "cert") return &options.tls.cert_file;
  if (name == "key") return &options.tls.key_file;
  if (name == "name") return &options.client_name;
  if (name == "namespace") return &options.name_space;
  if (name == "sentinel_user") return &options.sentinel_user;
  if (name == "sentinel_password") return &options.sentinel_password;
  return nullptr;
}

Status apply_setting(std::string_view name, std::string_view encoded, RedisOptions& options) {
  auto value = percent_decode(encoded);
  if (!value) return bad("setting '" + std::string(name) + "' has a broken %-escape");
  if (name == "namespace" && !is_namespace(*value)) {
    return bad("setting 'namespace': expected at most 64 letters, digits, '.', '_' and '-'");
  }
  if (std::string* text = text_setting(name, options)) {
    *text = *std::move(value);
    return success();
  }
  if (name == "db") return parse_database(*value, options);
  const bool numeric = name == "deadline" || name == "connect_timeout" || name == "connections" || name == "in_flight";
  if (!numeric && name != "time" && name != "tls" && name != "verify") {
    return bad("unknown setting '" + std::string(name) + "'");
  }
  if (numeric ? apply_number_or_time(name, *value, options) : apply_switch(name, *value, options)) return success();
  return bad("setting '" + std::string(name) + "' has an invalid value");
}

Status parse_query(std::string_view query, RedisOptions& options) {
  while (!query.empty()) {
    const auto next = query.find('&');
    const std::string_view pair = query.substr(0, next);
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos) return bad("the query is not name=value&name=value");
    if (auto status = apply_setting(pair.substr(0, equals), pair.substr(equals + 1), options); !status.ok()) {
      return status;
    }
    query = next == std::string_view::npos ? std::string_view{} : query.substr(next + 1);
  }
  if (options.tls.cert_file.empty() != options.tls.key_file.empty()) return bad("cert and key must be set together");
  return success();
}

}  // namespace

bool is_namespace(std::string_view text) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.size() <= kMaxNamespace && text.find_first_not_of(kCharacters) == std::string_view::npos;
}

std::string key_prefix(std::string_view name_space) {
  return name_space.empty() ? "w1:" : "w1:" + std::string(name_space) + ":";
}

std::optional<TimeSource> time_source_from_name(std::string_view name) {
  if (name == "redis") return TimeSource::redis;
  if (name == "node") return TimeSource::node;
  if (name == "gateway") return TimeSource::gateway;
  return std::nullopt;
}

std::string to_text(const Address& address) {
  if (address.port == 0) return address.host;
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

std::string servers_text(const RedisOptions& options) {
  std::string out;
  for (const Address& seed : options.seeds) out += (out.empty() ? "" : ", ") + to_text(seed);
  return out;
}

bool is_redis_url(std::string_view text) { return text.starts_with("redis") && text.find("://") != text.npos; }

Result<RedisOptions> parse_redis_url(std::string_view text) {
  if (text.size() > kMaxUrl) return bad("the URL is longer than 4096 characters");
  const Scheme* scheme = nullptr;
  for (const Scheme& known : kSchemes) {
    if (text.starts_with(known.prefix)) scheme = &known;
  }
  if (scheme == nullptr)
    return bad("expected redis://, rediss://, redis-sentinel://, redis-cluster:// or redis+unix://");
  text.remove_prefix(scheme->prefix.size());

  RedisOptions options;
  options.topology = scheme->topology;
  options.tls.enabled = scheme->tls;
  std::string_view query;
  if (const auto mark = text.find('?'); mark != std::string_view::npos) {
    query = text.substr(mark + 1);
    text = text.substr(0, mark);
  }
  // The last '@', so that an unescaped one inside a password stays in the password and out of the host.
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    if (auto status = parse_credentials(text.substr(0, at), options); !status.ok()) return status.failure();
    text = text.substr(at + 1);
  }
  if (scheme->unix_socket) {
    if (!text.starts_with('/')) return bad("redis+unix:// needs an absolute path");
    options.seeds.push_back({std::string(text), 0});
  } else {
    const auto slash = text.find('/');
    if (auto status = parse_hosts(text.substr(0, slash), options); !status.ok()) return status.failure();
    const std::string_view path = slash == std::string_view::npos ? std::string_view{} : text.substr(slash + 1);
    if (auto status = parse_path(path, options); !status.ok()) return status.failure();
  }
  if (auto status = parse_query(query, options); !status.ok()) return status.failure();
  return options;
}

}  // namespace weir::redis
