#include "server/redis_settings.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "stores/redis/url.h"

namespace weir::server {
namespace {

Failure bad(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// True when the URL's query sets `name`.
bool url_says(std::string_view url, std::string_view name) {
  std::string_view rest = url.substr(std::min(url.find('?'), url.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);  // '?' or '&'
    if (rest.starts_with(name) && rest.substr(name.size()).starts_with('=')) return true;
    rest.remove_prefix(std::min(rest.find('&'), rest.size()));
  }
  return false;
}

std::chrono::milliseconds whole_ms(Duration duration) { return std::chrono::ceil<std::chrono::milliseconds>(duration); }

Status set_tls_files(const Config& config, redis::TlsOptions& tls) {
  struct File {
    const char* setting;
    std::string value;
    std::string& target;
  };
  const File files[] = {{"redis.tls_ca", config.redis_tls_ca.string(), tls.ca_file},
                        {"redis.tls_cert", config.redis_tls_cert.string(), tls.cert_file},
                        {"redis.tls_key", config.redis_tls_key.string(), tls.key_file}};
  for (const File& file : files) {
    if (file.value.empty()) continue;
    if (!tls.enabled) {
      return bad(std::string(file.setting) + ": is set, but the store does not use TLS: rediss://… or ?tls=on");
    }
    if (file.target.empty()) file.target = file.value;
  }
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    return bad("redis.tls_cert: a certificate needs its key, and a key its certificate");
  }
  return success();
}

}  // namespace

bool uses_redis(const Config& config) { return redis::is_redis_url(config.store); }

Result<redis::RedisOptions> redis_options(const Config& config) {
  Result<redis::RedisOptions> parsed = redis::parse_redis_url(config.store);
  if (!parsed.ok()) return parsed.failure();
  redis::RedisOptions options = std::move(parsed).value();
  const std::string_view url = config.store;
  if (!url_says(url, "deadline")) options.deadline = whole_ms(config.redis_deadline);
  if (!url_says(url, "connect_timeout")) options.connect_timeout = whole_ms(config.redis_connect_timeout);
  if (!url_says(url, "connections")) options.connections = static_cast<std::size_t>(config.redis_connections);
  if (!url_says(url, "in_flight")) options.max_in_flight = static_cast<std::size_t>(config.redis_max_in_flight);
  if (!url_says(url, "namespace")) options.name_space = config.redis_namespace;
  if (!url_says(url, "time")) {
    options.time = redis::time_source_from_name(config.redis_time).value_or(redis::TimeSource::redis);
  }
  if (Status status = set_tls_files(config, options.tls); !status.ok()) return status.failure();
  return options;
}

}  // namespace weir::server
