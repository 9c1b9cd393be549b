// The secret that subjects are hashed with, kept in Redis: nodes on one Redis must hash alike, or each would count in
// buckets of its own.
#pragma once

#include <string>
#include <string_view>

#include "stores/redis/options.h"
#include "weir/options.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::redis {

// The key in Redis that holds it, as 32 hexadecimal digits, like a hash_key_file: "w1:hash-key", or with a namespace
// "w1:prod:hash-key".
std::string hash_key_name(const RedisOptions& options);

// Offers `proposal`, and answers with what Redis keeps: the first offer ever made. Blocks for at most `patience`, on a
// connection of its own. Failures: unavailable (the message says which servers, why, and what to do, and ends with
// `otherwise`), invalid_argument (what is kept is not a key, or the TLS files cannot be used).
Result<HashKey> agree_on_hash_key(const RedisOptions& options, const HashKey& proposal, Duration patience,
                                  std::string_view otherwise);

}  // namespace weir::redis
