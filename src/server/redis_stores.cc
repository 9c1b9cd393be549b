#include "server/redis_stores.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weir::server {

using std::chrono::steady_clock;

namespace {

constexpr double kMicrosecond = 1e-6;

std::uint64_t read(const redis::StoreStats::Counter& counter) { return counter.load(std::memory_order_relaxed); }

// How long the present spell has lasted; zero outside one.
std::chrono::microseconds present_spell(const redis::StoreStats& stats, steady_clock::time_point now) {
  if (stats.breaker() == redis::BreakerState::closed) return {};
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  return at - std::chrono::microseconds(stats.open_since_us.load(std::memory_order_relaxed));
}

}  // namespace

// What the engine holds in place of the store, because the store must end before the engine does. It tells the store
// whose call it is, and the loop whose requests to leave unread for now.
class RedisStores::LoopStore final : public Store, public transport::Backpressure {
 public:
  LoopStore(std::unique_ptr<redis::RedisStore> store, const transport::Loop& loop)
      : store_(std::move(store)), loop_(loop) {}

  bool begin(StoreCall& call) override {
    if (store_ != nullptr) [[likely]]
      return store_->begin(call, loop_.current_connection());
    call.status = Code::unavailable;
    return true;
  }
  bool holds_back(std::uint64_t connection) const override {
    return store_ != nullptr && store_->holds_back(connection);
  }
  bool uses_tags() const override { return true; }
  bool holds_reservations() const override { return true; }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "redis"; }

  const redis::StoreStats* stats() const { return store_ == nullptr ? nullptr : &store_->stats(); }
  const redis::ServerTable* servers() const { return store_ == nullptr ? nullptr : &store_->servers(); }
  redis::RedisStore* store() const { return store_.get(); }
  void close() { store_.reset(); }

 private:
  std::unique_ptr<redis::RedisStore> store_;
  const transport::Loop& loop_;
};

Result<std::unique_ptr<RedisStores>> RedisStores::open(transport::Loops& loops, const redis::RedisOptions& options,
                                                       observe::Log& log, bool own) {
  std::unique_ptr<RedisStores> all(new RedisStores(log));
  redis::RedisOptions shared = options;
  shared.census = all->census_;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    shared.asks_info = own && i == 0;
    all->connects_.push_back(std::make_shared<std::atomic<std::uint64_t>>(0));
    Result<std::unique_ptr<redis::RedisStore>> store =
        redis::RedisStore::open(loops.io(i), shared, all->listener(all->connects_.back()));
    if (!store.ok()) return store.failure();
    all->stores_.push_back(std::make_shared<LoopStore>(std::move(store).value(), loops.loop(i)));
    if (own) loops.loop(i).set_backpressure(*all->stores_.back());
  }
  return all;
}

redis::RedisStore* RedisStores::store_of(std::size_t loop) const { return stores_[loop]->store(); }

redis::StoreListener RedisStores::listener(std::shared_ptr<std::atomic<std::uint64_t>> connects) {
  redis::StoreListener listener;
  listener.on_breaker = [this](const redis::BreakerChange& change) { on_change(change); };
  listener.on_connect_failed = [this](const std::string& server, const redis::Trouble& trouble) {
    on_connect_failed(server, trouble);
  };
  listener.on_connected = [this, connects = std::move(connects)](const std::string& server) {
    connects->fetch_add(1, std::memory_order_relaxed);
    on_connected(server);
  };
  listener.on_bad_bucket = [this](const std::string& key, const std::string& why, std::uint64_t others) {
    log_.error("store_bad_bucket", "a bucket in Redis cannot be used: on_store_failure decides for it; delete the key",
               {{"key", key}, {"reason", why}, {"others", others}});
  };
  return listener;
}

RedisStores::~RedisStores() { close(); }

void RedisStores::close() {
  for (const auto& store : stores_) store->close();
}

std::shared_ptr<Store> RedisStores::store(std::size_t loop) const { return stores_[loop]; }

redis::BreakerState RedisStores::breaker() const {
  using redis::BreakerState;
  BreakerState all = BreakerState::closed;
  for (const auto& store : stores_) {
    const BreakerState one = store->stats() == nullptr ? BreakerState::closed : store->stats()->breaker();
    if (one == BreakerState::half_open) return one;
    if (one == BreakerState::open) all = one;
  }
  return all;
}

std::chrono::milliseconds RedisStores::fallback_time() const {
  const auto now = steady_clock::now();
  std::chrono::microseconds longest{0};
  for (const auto& store : stores_) {
    if (store->stats() != nullptr) longest = std::max(longest, present_spell(*store->stats(), now));
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(longest);
}

observe::RemoteStoreFacts RedisStores::facts() const {
  using redis::StoreStats;
  using BreakerFact = observe::RemoteStoreFacts::Breaker;
  observe::RemoteStoreFacts facts;
  const redis::BreakerState state = breaker();
  facts.breaker = state == redis::BreakerState::closed ? BreakerFact::closed
                  : state == redis::BreakerState::open ? BreakerFact::open
                                                       : BreakerFact::half_open;
  for (std::size_t k = 0; k < redis::kFailureKindCount; ++k) {
    facts.failures.push_back({redis::failure_kind_name(static_cast<redis::FailureKind>(k)), 0});
  }
  for (std::size_t b = 0; b < StoreStats::kLatencyBuckets; ++b) {
    facts.latency.push_back({static_cast<double>(StoreStats::latency_bound(b).count()) * kMicrosecond, 0});
  }
  const auto now = steady_clock::now();
  std::chrono::microseconds longest{0};
  for (const auto& store : stores_) {
    const StoreStats* const stats = store->stats();
    if (stats == nullptr) continue;
    facts.breaker_opened += read(stats->breaker_opened);
    facts.calls += read(stats->calls);
    facts.script_calls += read(stats->script_calls);
    facts.script_loads += read(stats->script_loads);
    facts.redirects += read(stats->redirects);
    facts.connects += read(stats->connects);
    for (std::size_t k = 0; k < redis::kFailureKindCount; ++k) facts.failures[k].count += read(stats->failures[k]);
    for (std::size_t b = 0; b < StoreStats::kLatencyBuckets; ++b) facts.latency[b].count += read(stats->latency[b]);
    longest = std::max(longest, stats->refused_for(now));
  }
  facts.census_failures = census_->failures();
  add_script_facts(facts);
  add_server_facts(facts);
  // Loops notice the same outage at nearly the same time: the longest is the outage, the sum would count it often.
  facts.fallback_seconds = static_cast<double>(longest.count()) * kMicrosecond;
  return facts;
}

void RedisStores::add_script_facts(observe::RemoteStoreFacts& facts) const {
  using redis::StoreStats;
  for (std::size_t script = 0; script < redis::kScriptCount; ++script) {
    observe::RemoteStoreFacts::Script& made = facts.scripts.emplace_back();
    made.name = redis::script_name(script);
    for (const auto& store : stores_) {
      if (store->stats() != nullptr) made.errors += read(store->stats()->script_errors[script]);
    }
    for (std::size_t outcome = 0; outcome < redis::kCallOutcomeCount; ++outcome) {
      auto& latency = made.outcomes.emplace_back();
      latency.outcome = redis::call_outcome_name(static_cast<redis::CallOutcome>(outcome));
      for (std::size_t b = 0; b < StoreStats::kLatencyBuckets; ++b) {
        const double below = static_cast<double>(StoreStats::latency_bound(b).count()) * kMicrosecond;
        std::uint64_t count = 0;
        for (const auto& store : stores_) {
          if (store->stats() != nullptr) count += read(store->stats()->script_latency[script][outcome][b]);
        }
        latency.buckets.push_back({below, count});
      }
    }
  }
}

// Loops have figures of their own about the same servers. What a server says of itself came to one of them.
void RedisStores::add_server_facts(observe::RemoteStoreFacts& facts) const {
  std::map<std::string, observe::RemoteStoreFacts::Server> sums;
  for (const auto& store : stores_) {
    if (store->servers() == nullptr) continue;
    for (const redis::ServerFigures* each : store->servers()->all()) {
      observe::RemoteStoreFacts::Server& sum = sums[each->server];
      sum.name = each->server;
      sum.calls += read(each->calls);
      sum.answered += read(each->answered);
      sum.latency_seconds += static_cast<double>(read(each->latency_us)) * kMicrosecond;
      for (const auto& kind : each->failures) sum.failures += read(kind);
      sum.in_flight += each->in_flight.load(std::memory_order_relaxed);
      sum.memory_bytes = std::max(sum.memory_bytes, each->memory_bytes.load(std::memory_order_relaxed));
      sum.memory_max_bytes = std::max(sum.memory_max_bytes, each->memory_max_bytes.load(std::memory_order_relaxed));
      sum.cpu_us = std::max(sum.cpu_us, each->cpu_us.load(std::memory_order_relaxed));
      sum.keys = std::max(sum.keys, each->keys.load(std::memory_order_relaxed));
      sum.key_bytes = std::max(sum.key_bytes, each->key_bytes.load(std::memory_order_relaxed));
    }
  }
  for (auto& [name, sum] : sums) facts.servers.push_back(std::move(sum));
}

void RedisStores::on_change(const redis::BreakerChange& change) {
  const std::lock_guard lock(mutex_);
  if (change.state == redis::BreakerState::closed) return look_for_recovery();
  if (!down_since_) down_since_ = steady_clock::now();
  // Logged once for each server, and again if something else is wrong than that it is unreachable.
  const std::string_view what = redis::is_away(change.trouble.cause) ? "away" : cause_word(change.trouble.cause);
  if (told_.size() >= kMaxTold || !told_.emplace(change.server, what).second) return;
  log_.error("store_unavailable", "Redis cannot be used: the rules' on_store_failure decides until it can",
             {{"server", change.server}, {"cause", cause_word(change.trouble.cause)}, {"reason", change.trouble.said}});
}

// A mistyped password is reported before the first request comes.
void RedisStores::on_connect_failed(const std::string& server, const redis::Trouble& trouble) {
  const std::lock_guard lock(mutex_);
  const char* const cause = cause_word(trouble.cause);
  if (not_connected_.size() >= kMaxTold || !not_connected_.emplace(server, cause).second) return;
  log_.warn("store_connect_failed", "no connection to Redis",
            {{"server", server}, {"cause", cause}, {"reason", trouble.said}});
}

void RedisStores::on_connected(const std::string& server) {
  const std::lock_guard lock(mutex_);
  const auto logged = std::erase_if(not_connected_, [&](const auto& each) { return each.first == server; });
  if (logged > 0) log_.info("store_connected", "connected to Redis", {{"server", server}});
}

void RedisStores::look_for_recovery() {
  if (!down_since_ || open_breaker()) return;
  const auto lasted = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - *down_since_);
  const bool one_server = !told_.empty() && told_.begin()->first == told_.rbegin()->first;
  log_.info("store_recovered", "Redis answers again",
            {{"server", one_server ? told_.begin()->first : "all"}, {"after_ms", lasted.count()}});
  down_since_.reset();
  told_.clear();
  recovered_ = true;
}

bool RedisStores::watch() {
  const std::lock_guard lock(mutex_);
  look_for_recovery();
  if (!open_breaker() && census_->failures() > 0 && !std::exchange(census_failed_, true)) {
    log_.warn("subject_count_failed",
              "Redis did not count the subjects of a rule: max_subjects may admit more until it does; does its user "
              "have ZADD, ZRANGE, ZCARD, ZREMRANGEBYSCORE and PEXPIREAT?");
  }
  return std::exchange(recovered_, false);
}

}  // namespace weir::server
