// The public functions of weir/redis.h.
#include "weir/redis.h"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "keys/key_encoder.h"
#include "stores/redis/loop_store.h"
#include "stores/redis/shared_hash_key.h"
#include "stores/redis/url.h"

namespace weir {
namespace {

redis::StoreListener listener_of(std::function<void(const RedisEvent&)> on_event) {
  redis::StoreListener listener;
  if (!on_event) return listener;
  using Kind = RedisEvent::Kind;
  listener.on_breaker = [on_event](const redis::BreakerChange& change) {
    if (change.state == redis::BreakerState::half_open) return;
    const bool closed = change.state == redis::BreakerState::closed;
    on_event({closed ? Kind::available : Kind::unavailable, change.server, closed ? "" : change.trouble.said});
  };
  listener.on_connect_failed = [on_event](const std::string& server, const redis::Trouble& trouble) {
    on_event({Kind::connect_failed, server, trouble.said});
  };
  listener.on_connected = [on_event](const std::string& server) { on_event({Kind::connected, server, {}}); };
  listener.on_bad_bucket = [on_event](const std::string& key, const std::string& why, std::uint64_t) {
    on_event({Kind::bad_bucket, key, why});
  };
  return listener;
}

// Looks at a bucket that is never charged, to learn whether the store answers.
class FirstCall final : public StoreCall {
 public:
  FirstCall() {
    action = Action::peek;
    now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    charge_.allowance = &allowance_;
    charge_.rule = "connecting";
    charges = {&charge_, 1};
    outcomes = {&outcome_, 1};
  }
  bool is_answered(Store& store) {
    if (!store.begin(*this)) completed_.get_future().wait();
    return status == Code::ok;
  }
  void complete() override { completed_.set_value(); }

 private:
  const Allowance allowance_ = make_allowance({.limit = 1, .window = std::chrono::seconds(1)}).value();
  Charge charge_;
  ChargeOutcome outcome_;
  std::promise<void> completed_;
};

// False: it does not answer yet.
bool wait_for_connection(Store& store, Duration patience) {
  constexpr std::chrono::milliseconds kPause{2};
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!FirstCall().is_answered(store)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

constexpr Duration kPatience = std::chrono::seconds(3);

}  // namespace

Result<std::shared_ptr<SharedStore>> open_redis_store(const RedisStoreOptions& options) {
  const Result<redis::RedisOptions> parsed = redis::parse_redis_url(options.url);
  if (!parsed.ok()) return parsed.failure();
  return redis::LoopStore::open(parsed.value(), listener_of(options.on_event));
}

Result<std::shared_ptr<SharedStore>> open_redis_store(boost::asio::io_context& loop, const RedisStoreOptions& options) {
  const Result<redis::RedisOptions> parsed = redis::parse_redis_url(options.url);
  if (!parsed.ok()) return parsed.failure();
  return redis::LoopStore::open(loop, parsed.value(), listener_of(options.on_event));
}

Result<HashKey> shared_hash_key(const RedisStoreOptions& options, Duration patience) {
  const Result<redis::RedisOptions> parsed = redis::parse_redis_url(options.url);
  if (!parsed.ok()) return parsed.failure();
  return redis::agree_on_hash_key(parsed.value(), keys::random_hash_key(), patience, "or set LimiterOptions::hash_key");
}

Status use_redis(const RedisStoreOptions& redis, LimiterOptions& options) {
  if (options.hash_key == HashKey{}) {
    const Result<HashKey> key = shared_hash_key(redis, kPatience);
    if (!key.ok()) return key.failure();
    options.hash_key = key.value();
  }
  Result<std::shared_ptr<SharedStore>> store = open_redis_store(redis);
  if (!store.ok()) return store.failure();
  // Without an answer the rules' on_store_failure decides, as in any other outage.
  static_cast<void>(wait_for_connection(*store.value(), kPatience));
  options.store = std::move(store).value();
  return success();
}

Status use_redis(std::string_view url, LimiterOptions& options) {
  return use_redis(RedisStoreOptions{.url = std::string(url)}, options);
}

}  // namespace weir
