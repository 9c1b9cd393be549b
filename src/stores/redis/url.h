// Reads the `store:` setting of a server that uses Redis.
//
//   redis://[user:password@]host[:port][/database]          rediss:// the same over TLS
//   redis+unix://[user:password@]/path/to/socket            database by ?db=
//   redis-sentinel://[user:password@]host[:port],host…/master[/database]
//   redis-cluster://[user:password@]host[:port],host…
//
// Settings follow as a query, `?deadline=20ms&connections=2`: deadline, connect_timeout (ms or s), connections,
// in_flight, time (redis, node, gateway), db, name, namespace, and for TLS: tls (on, off), ca, cert, key, verify (on,
// off); for Sentinel sentinel_user, sentinel_password. User, password and values may be percent-encoded; hosts may be
// [IPv6].
//
// Pure and thread-safe. Failures are invalid_argument and never repeat any part of the password.
#pragma once

#include <string_view>

#include "stores/redis/options.h"
#include "weir/result.h"

namespace weir::redis {

// True for any text that this room would try to read.
bool is_redis_url(std::string_view text);

Result<RedisOptions> parse_redis_url(std::string_view text);

}  // namespace weir::redis
