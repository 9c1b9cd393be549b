// Reads keys of Weir from Redis for people who look into it: a connection of its own, which blocks and changes nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stores/redis/options.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

struct StoredValue {
  std::optional<std::string> value;  // none: there is no such key
  std::int64_t ttl_ms = -1;          // -1: none
  std::string problem;               // what Redis said in place of a value, such as WRONGTYPE
};

// One for each name. Blocks for at most `patience`. Failures: unavailable (which servers, and why), invalid_argument
// (the TLS files cannot be used).
Result<std::vector<StoredValue>> read_stored(const redis::RedisOptions& options, std::span<const std::string> names,
                                             Duration patience);

}  // namespace weir::server
