// RedisStores: one Redis store for each loop, and what they report together: health, figures, and one log line
// when Redis goes out of use and one when it is back, however many loops notice. It lets the stores tell client
// connections apart, and holds back those that ask for more than their share.
//
// open() before the loops run. close() after they have stopped: it fails what is still in flight, which the engines
// must live to answer. The rest may be called from any thread in between. Borrows the loops and the log.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontends/transport/loops.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "stores/redis/redis_store.h"
#include "weir/result.h"
#include "weir/store.h"

namespace weir::server {

class RedisStores {
 public:
  // A server that is down is no failure; TLS files that cannot be used are.
  // `own`: of this node's region, whose calls hold back clients; false: another region's.
  static Result<std::unique_ptr<RedisStores>> open(transport::Loops& loops, const redis::RedisOptions& options,
                                                   observe::Log& log, bool own = true);
  ~RedisStores();
  RedisStores(const RedisStores&) = delete;
  RedisStores& operator=(const RedisStores&) = delete;

  // Good for as long as the engine likes: after close() it answers that it is unavailable.
  std::shared_ptr<Store> store(std::size_t loop) const;

  // Grows when a connection of the loop was made: the server behind it may have lost its data.
  std::shared_ptr<const std::atomic<std::uint64_t>> connects(std::size_t loop) const { return connects_[loop]; }

  // On that loop's thread. Null: closed.
  redis::RedisStore* store_of(std::size_t loop) const;

  // Some server is out of use on some loop.
  bool open_breaker() const { return breaker() != redis::BreakerState::closed; }
  // Half open while some loop probes such a server.
  redis::BreakerState breaker() const;
  // For how long that has been so; zero if it is not.
  std::chrono::milliseconds fallback_time() const;
  observe::RemoteStoreFacts facts() const;

  // To be called now and then: a server that left the cluster while it was out of use recovers without a word.
  // True: Redis has come back since the last call.
  bool watch();

  // How many subjects each rule has, by Charge::number.
  std::vector<redis::SubjectCensus::Count> subjects() const { return census_->counts(SteadyTime::clock::now()); }

  // Idempotent.
  void close();

 private:
  class LoopStore;
  using SteadyTime = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMaxTold = 64;  // servers and causes logged in one outage

  explicit RedisStores(observe::Log& log) : log_(log) {}
  redis::StoreListener listener(std::shared_ptr<std::atomic<std::uint64_t>> connects);
  void on_change(const redis::BreakerChange& change);
  void on_connect_failed(const std::string& server, const redis::Trouble& trouble);
  void on_connected(const std::string& server);
  void look_for_recovery();
  void add_script_facts(observe::RemoteStoreFacts& facts) const;
  void add_server_facts(observe::RemoteStoreFacts& facts) const;

  observe::Log& log_;
  const std::shared_ptr<redis::SubjectCensus> census_ = std::make_shared<redis::SubjectCensus>();
  std::vector<std::shared_ptr<LoopStore>> stores_;                     // constant once open, like the next
  std::vector<std::shared_ptr<std::atomic<std::uint64_t>>> connects_;  // by loop

  std::mutex mutex_;
  std::optional<SteadyTime> down_since_;                       // guarded by mutex_, like all below
  using Told = std::set<std::pair<std::string, std::string>>;  // server and cause
  Told told_;                                                  // of this outage
  Told not_connected_;                                         // since the server was connected to
  bool recovered_ = false;
  bool census_failed_ = false;  // logged
};

}  // namespace weir::server
