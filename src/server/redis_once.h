// RedisOnce: answers to requests with an Idempotency-Key, shared by all nodes through Redis
// (stores/redis/shared_answers.h). One for each loop. Borrows the stores, which outlive every call: after close() it
// answers that Redis is unavailable.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "frontends/http/once_store.h"
#include "keys/siphash.h"
#include "server/redis_stores.h"

namespace weir::server {

class RedisOnce final : public http::OnceStore {
 public:
  // `most`: keys in all of Redis.
  RedisOnce(const RedisStores& stores, std::size_t loop, const HashKey& key, std::size_t most)
      : stores_(stores), loop_(loop), key_(key), most_(most) {}

  void begin(const std::string& scope, const BucketKey& body, std::function<void(Begun)> done) override;

 private:
  class Running;

  const RedisStores& stores_;
  const std::size_t loop_;
  const HashKey key_;
  const std::size_t most_;
};

}  // namespace weir::server
