#include "server/modules/redis_module.h"

#include <string>
#include <utility>

#include "server/redis_settings.h"
#include "stores/redis/shared_hash_key.h"

namespace weir::server {
namespace {

constexpr Duration kHashKeyTimeout = std::chrono::milliseconds(500);
constexpr Duration kHashKeyPeriod = std::chrono::seconds(10);

}  // namespace

Status RedisModule::open() {
  if (!uses_redis(context_.config)) return success();
  const Result<redis::RedisOptions> options = redis_options(context_.config);
  if (!options.ok()) return options.failure();
  Result<std::unique_ptr<RedisStores>> stores = RedisStores::open(*context_.loops, options.value(), context_.log);
  if (!stores.ok()) return stores.failure();
  stores_ = std::move(stores).value();
  return success();
}

Status RedisModule::start() {
  if (stores_ == nullptr) return success();
  const bool key_in_redis = context_.config.hash_key_file.empty();
  context_.add_task(kWatchPeriod, [this, key_in_redis] {
    if (stores_->watch() && key_in_redis) keep_hash_key();
  });
  if (key_in_redis) context_.add_task(kHashKeyPeriod, [this] { keep_hash_key(); });
  context_.add_health([this](HealthDetails& details) { add_health(details); });
  return success();
}

void RedisModule::stop() {
  if (stores_ != nullptr) stores_->close();
}

// A Redis that was flushed, or that restarted empty, no longer has the key that the running nodes hash with. A node
// that starts then would make another and count apart from them, so the key is put back.
void RedisModule::keep_hash_key() {
  if (stores_->open_breaker()) return;
  const Result<redis::RedisOptions> options = redis_options(context_.config);
  if (!options.ok()) return;
  const Result<HashKey> kept = redis::agree_on_hash_key(options.value(), context_.keys.current, kHashKeyTimeout, {});
  if (!kept.ok() || kept.value() == context_.keys.current) return;
  context_.log.error("hash_key_differs",
                     "Redis has another hash key: limits are not shared with nodes that use it; restart this node",
                     {{"key", hash_key_name(options.value())}});
}

void RedisModule::add_health(HealthDetails& details) const {
  details.add_section("store", std::string(R"("kind":"redis","state":")") +
                                   redis::breaker_state_name(stores_->breaker()) +
                                   "\",\"fallback_ms\":" + std::to_string(stores_->fallback_time().count()));
}

}  // namespace weir::server
