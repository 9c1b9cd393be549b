// RedisModule: the Redis stores, one for each loop, if the configuration names Redis; and the hash key that nodes share
// through Redis.
#pragma once

#include <memory>

#include "server/module.h"
#include "server/redis_stores.h"
#include "server/server_context.h"

namespace weir::server {

class RedisModule final : public Module {
 public:
  explicit RedisModule(ServerContext& context) : context_(context) {}

  Status open() override;
  Status start() override;
  // Calls that still wait for Redis are failed, and the engines answer them: those are destroyed later.
  void stop() override;

  // Null: buckets are kept in memory.
  const RedisStores* stores() const { return stores_.get(); }

 private:
  void keep_hash_key();
  void add_health(HealthDetails& details) const;

  ServerContext& context_;
  std::unique_ptr<RedisStores> stores_;
};

}  // namespace weir::server
