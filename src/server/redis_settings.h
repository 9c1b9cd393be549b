// What the configuration says about Redis, put together from the `store` URL and the settings `redis.*`.
//
// The URL's query takes precedence over the settings. Pure and thread-safe. Failures are invalid_argument and never
// repeat any part of a password.
#pragma once

#include "server/config.h"
#include "stores/redis/options.h"
#include "weir/result.h"

namespace weir::server {

bool uses_redis(const Config& config);

// Precondition: uses_redis(config).
Result<redis::RedisOptions> redis_options(const Config& config);

// Of the Redis of another region (region.homes), which has a deadline of its own.
Result<redis::RedisOptions> home_redis_options(const Config& config, const std::string& url);

}  // namespace weir::server
