// The secret that subjects are hashed with, kept in Redis: nodes on one Redis must hash alike, or each would count in
// buckets of its own.
#pragma once

#include "stores/redis/options.h"
#include "weir/limiter.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

// Where it is kept, as 32 hexadecimal digits: what a hash_key_file holds.
inline constexpr const char* kHashKeyName = "w1:hash-key";

// Offers `proposal`, and answers with what Redis keeps: the first offer ever made. Blocks for at most `patience`, on a
// connection of its own. Failures: unavailable (the message says which servers, why, and what to do),
// invalid_argument (what is kept is not a key, or the TLS files cannot be used).
Result<HashKey> agree_on_hash_key(const redis::RedisOptions& options, const HashKey& proposal, Duration patience);

}  // namespace weir::server
