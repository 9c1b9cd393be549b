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

namespace {

Result<redis::RedisOptions> options_of(const Config& config, const std::string& url, Duration deadline) {
  Result<redis::RedisOptions> parsed = redis::parse_redis_url(url);
  if (!parsed.ok()) return parsed.failure();
  redis::RedisOptions options = std::move(parsed).value();
  if (!url_says(url, "deadline")) options.deadline = whole_ms(deadline);
  if (!url_says(url, "connect_timeout")) options.connect_timeout = whole_ms(config.redis_connect_timeout);
  if (!url_says(url, "connections")) options.connections = static_cast<std::size_t>(config.redis_connections);
  if (!url_says(url, "in_flight")) options.max_in_flight = static_cast<std::size_t>(config.redis_max_in_flight);
  if (!url_says(url, "namespace")) options.name_space = config.redis_namespace;
  if (!url_says(url, "time")) {
    options.time = redis::time_source_from_name(config.redis_time).value_or(redis::TimeSource::redis);
  }
  return options;
}

}  // namespace

Result<redis::RedisOptions> redis_options(const Config& config) {
  Result<redis::RedisOptions> options = options_of(config, config.store, config.redis_deadline);
  if (!options.ok()) return options.failure();
  if (Status status = set_tls_files(config, options.value().tls); !status.ok()) return status.failure();
  return options;
}

Result<redis::RedisOptions> home_redis_options(const Config& config, const std::string& url) {
  Result<redis::RedisOptions> options = options_of(config, url, config.region_deadline);
  if (!options.ok()) return options.failure();
  // The files are those of this region's Redis if that uses TLS, and this one may not.
  if (!options.value().tls.enabled) return options;
  if (Status status = set_tls_files(config, options.value().tls); !status.ok()) return status.failure();
  return options;
}

}  // namespace weir::server
