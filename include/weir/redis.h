// Limits that several programs share through Redis: standalone, Sentinel or Cluster. In the library weir::redis
// (find_package(weir COMPONENTS redis)).
//
//   weir::LimiterOptions options;
//   if (weir::Status used = weir::use_redis("redis://127.0.0.1:6379", options); !used.ok()) {
//     std::cerr << used.failure().message << '\n';
//     return 1;
//   }
//   auto limiter = weir::Limiter::open("rules.yaml", options);
//
// Programs share a limit if they use the same Redis, the same namespace, the same hash key and rules with the same ids;
// Weir servers are such programs. Scripts, keys and behaviour in an outage are those of the server (docs/redis.md).
// Rules with `consistency: leased` and hot keys are leased as in the server, for the whole store; `synced` ones are
// exact, because a program is not among the nodes that share a tolerance (docs/consistency.md).
//
// The store has a thread of its own, which talks to Redis, or uses an io_context of the application's. A limiter on it
// is thread-safe: check() with a completion never blocks, and the completion runs on the store's thread, or before
// check() returns if the answer is there by then; check() without one waits. On the store's thread itself, such as in a
// completion, waiting would never end: an assertion ends the program there.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/options.h"
#include "weir/result.h"
#include "weir/store.h"
#include "weir/time.h"

namespace boost::asio {
class io_context;
}

namespace weir {

// Something that a program may want to log. Each outage and each recovery is reported once per server.
struct RedisEvent {
  enum class Kind : std::uint8_t {
    connected,       // a connection was made
    connect_failed,  // a connection could not be made
    unavailable,     // the server is out of use: the rules' on_store_failure decides
    available,       // it is used again
    bad_bucket,      // a key in Redis is not what Weir has written
  };
  Kind kind = Kind::connected;
  std::string server;  // "host:port", or for bad_bucket the key
  std::string reason;  // never a password
};

struct RedisStoreOptions {
  // redis://, rediss://, redis+unix://, redis-sentinel:// or redis-cluster://, with settings as its query:
  // "redis://127.0.0.1:6379?deadline=20ms&namespace=prod". The same as the server's `store` (docs/redis.md).
  std::string url;
  // Runs on the store's thread; must not block or throw.
  std::function<void(const RedisEvent&)> on_event = {};
};

// Any thread may call it. Every call that was begun must be complete before its limiter goes: wait for the completions,
// or close() the store first.
class SharedStore : public Store {
 public:
  // Fails what is under way, whose completions then run, and everything that is asked later. Returns when that is done.
  // Not to be called on the store's thread, except on an io_context of the application's. Idempotent.
  virtual void close() = 0;
};

// Starts to connect and does not wait for it: a server that is down is no failure here. Failures: invalid_argument, for
// a URL that cannot be read, and TLS files that cannot be used. Destroying the store closes it, and ends its thread.
Result<std::shared_ptr<SharedStore>> open_redis_store(const RedisStoreOptions& options);
// The same on an io_context of the application's, for programs that have an event loop already. Completions run on the
// thread that runs the loop, which must be one thread; calls from that thread need no hop to another. The loop must
// outlive the store. Destroy or close the store on the loop's thread, or while no thread runs the loop.
Result<std::shared_ptr<SharedStore>> open_redis_store(boost::asio::io_context& loop, const RedisStoreOptions& options);

// The secret that subjects are hashed with, which all programs on one Redis must share: the first one that asks makes
// it, Redis keeps it. Blocks for at most `patience`. Failures: unavailable; invalid_argument (the URL, the TLS files,
// or what Redis keeps under that key).
Result<HashKey> shared_hash_key(const RedisStoreOptions& options, Duration patience = std::chrono::seconds(3));

// Both: fills options.store, and options.hash_key unless it is set. Blocks as shared_hash_key() does, and then until
// Redis answers, for a few seconds at most: a Redis that is down is no failure if hash_key is set.
Status use_redis(const RedisStoreOptions& redis, LimiterOptions& options);
Status use_redis(std::string_view url, LimiterOptions& options);

}  // namespace weir
