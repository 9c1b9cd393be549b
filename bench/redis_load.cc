// Load on a Redis store from inside one process: one loop, one limiter, a fixed number of checks in flight. Prints one
// JSON object for bench/redis_suite.py.
//
//   redis_load URL DECISIONS IN_FLIGHT FLOOD_PERCENT PREFILTER [KEYS CONSISTENCY NODES]
//
// FLOOD_PERCENT of the checks are on kFloodKeys exhausted keys, the others on keys that never are: kKeys of them, each
// as often as the others, or, with KEYS, `hot` for a single one or `zipf` for a million of which the nth is asked for
// n^-1.1 times as often as the first. PREFILTER is on or off; CONSISTENCY is exact, leased or
// synced; a synced one waits until as many processes as NODES share the tolerance.
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <span>
#include <string_view>

#include "bench/redis_rules.h"
#include "engine/boot_clock.h"
#include "stores/leased/leased_store.h"
#include "stores/redis/redis_store.h"
#include "stores/redis/url.h"
#include "stores/synced/members.h"
#include "stores/synced/synced_store.h"
#include "weir/limiter.h"

namespace weir::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t kKeys = 10'000;
constexpr std::uint64_t kFloodKeys = 100;
constexpr std::chrono::seconds kConnectPatience{10};

std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

enum class Keys : std::uint8_t { uniform, hot, zipf };

// By the inverse of the distribution's integral.
std::uint64_t zipf_rank(std::uint64_t& state) {
  constexpr double kExponent = 1.1;
  constexpr double kMost = 1'000'000;
  const double share = static_cast<double>(next_random(state) >> 11U) * 0x1p-53;
  return static_cast<std::uint64_t>(std::pow(1 - share * (1 - std::pow(kMost, 1 - kExponent)), 1 / (1 - kExponent)));
}

// Starts a check for each that ends, until `total` have ended.
class Load {
 public:
  Load(Limiter& limiter, std::uint64_t flood_percent, Keys keys)
      : limiter_(limiter), flood_percent_(flood_percent), keys_(keys) {}

  void run(boost::asio::io_context& loop, std::uint64_t total, std::uint64_t in_flight) {
    total_ = total;
    most_ = in_flight;
    while (ended_ < total_) {
      pump();
      loop.restart();
      const bool waits = started_ == total_ || started_ - ended_ == most_;
      waits ? loop.run_one() : loop.poll();
    }
  }
  std::uint64_t allowed() const { return allowed_; }
  std::uint64_t degraded() const { return degraded_; }

 private:
  // A check that is answered at once ends inside check(), and must not start the next one from there. After as many as
  // may be in flight the loop has its turn, as between the requests that a server reads: Redis may have answered.
  void pump() {
    if (pumping_) return;
    pumping_ = true;
    for (std::uint64_t i = 0; i < most_ && started_ < total_ && started_ - ended_ < most_; ++i) {
      ++started_;
      start();
    }
    pumping_ = false;
  }
  void start() {
    const bool flood = next_random(random_) % 100 < flood_percent_;
    char key[17];
    std::snprintf(key, sizeof key, "%016llx", static_cast<unsigned long long>(next_key(flood)));
    limiter_.check({{"api_key", key}, {"action", flood ? "flood" : "search"}}, [this](const Decision& decision) {
      ++ended_;
      allowed_ += decision.allowed ? 1 : 0;
      degraded_ += decision.degraded ? 1 : 0;
      pump();
    });
  }

  std::uint64_t next_key(bool flood) {
    if (flood) return next_random(random_) % kFloodKeys;
    if (keys_ == Keys::zipf) return zipf_rank(random_);
    return keys_ == Keys::hot ? 0 : next_random(random_) % kKeys;
  }

  Limiter& limiter_;
  const std::uint64_t flood_percent_;
  const Keys keys_;
  std::uint64_t total_ = 0;
  std::uint64_t most_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t allowed_ = 0;
  std::uint64_t degraded_ = 0;
  std::uint64_t random_ = 88'172'645'463'325'252U;
  bool pumping_ = false;
};

// Waits for the first connection: until one decision comes from Redis.
bool connect(boost::asio::io_context& loop, Limiter& limiter) {
  const auto give_up = steady_clock::now() + kConnectPatience;
  bool answered = false;
  while (!answered && steady_clock::now() < give_up) {
    bool ended = false;
    limiter.check({{"api_key", "first"}, {"action", "search"}}, [&](const Decision& decision) {
      ended = true;
      answered = !decision.degraded;
    });
    while (!ended) {
      loop.restart();
      loop.run_one();
    }
    loop.restart();
    loop.run_for(std::chrono::milliseconds(answered ? 0 : 20));
  }
  return answered;
}

// What a server does for its synced stores: reports that are due, and beats.
class SyncedNode {
 public:
  SyncedNode(boost::asio::io_context& loop, std::shared_ptr<redis::RedisStore> redis, std::shared_ptr<Clock> clock)
      : redis_(std::move(redis)),
        membership_(std::make_shared<synced::Membership>(synced::Membership::Options{
            .id = static_cast<std::uint64_t>(steady_clock::now().time_since_epoch().count()),
            .settled = [this] { return store_->settled(); }})),
        store_(std::make_shared<synced::SyncedStore>(
            synced::Options{.store = redis_,
                            .clock = std::move(clock),
                            .boot = boot_,
                            .credit = std::shared_ptr<const synced::Credit>(membership_, &membership_->credit())})),
        timer_(loop) {
    turn();
  }
  const std::shared_ptr<synced::SyncedStore>& store() const { return store_; }
  bool await(boost::asio::io_context& loop, std::uint32_t nodes) {
    const auto give_up = steady_clock::now() + kConnectPatience;
    const auto ready = [&] {
      return membership_->nodes() == nodes && membership_->credit().parts(boot_->now()) == nodes;
    };
    while (!ready() && steady_clock::now() < give_up) {
      loop.restart();
      loop.run_one();
    }
    return ready();
  }
  void stop() { timer_.cancel(); }

 private:
  void turn() {
    if (++turns_ % 20 == 1) beat();
    store_->tick();
    timer_.expires_after(std::chrono::milliseconds(25));
    timer_.async_wait([this](const boost::system::error_code& failure) {
      if (!failure) turn();
    });
  }
  void beat() {
    const synced::Beat beat = membership_->next(boot_->now());
    redis_->beat({.id = beat.id, .number = beat.number, .weight = 1, .held = beat.held, .ttl = synced::kMemberTtl},
                 [this, number = beat.number](const redis::MemberGrant& grant) {
                   membership_->answered(number, {.parts = grant.parts, .nodes = grant.nodes});
                 });
  }

  const std::shared_ptr<redis::RedisStore> redis_;
  const std::shared_ptr<Clock> boot_ = std::make_shared<engine::BootClock>();
  const std::shared_ptr<synced::Membership> membership_;
  const std::shared_ptr<synced::SyncedStore> store_;
  boost::asio::steady_timer timer_;
  int turns_ = 0;
};

int measure(std::span<char* const> words) {
  const bool with_keys = words.size() > 7;
  const Keys keys = !with_keys ? Keys::uniform : std::strcmp(words[6], "zipf") == 0 ? Keys::zipf : Keys::hot;
  const bool leased = with_keys && std::strcmp(words[7], "leased") == 0;
  auto options = redis::parse_redis_url(words[1]);
  if (!options.ok()) {
    std::cerr << options.failure().message << '\n';
    return 2;
  }
  boost::asio::io_context loop;
  auto opened = redis::RedisStore::open(loop, options.value());
  if (!opened.ok()) {
    std::cerr << opened.failure().message << '\n';
    return 2;
  }
  const std::shared_ptr<redis::RedisStore> store = std::move(opened).value();
  LimiterOptions settings;
  settings.clock = std::make_shared<ProcessClock>();
  settings.store = store;
  if (leased)
    settings.store = std::make_shared<leased::LeasedStore>(leased::Options{.store = store, .clock = settings.clock});
  const bool synced = with_keys && std::strcmp(words[7], "synced") == 0;
  std::unique_ptr<SyncedNode> node;
  if (synced) {
    node = std::make_unique<SyncedNode>(loop, store, settings.clock);
    settings.store = node->store();
  }
  settings.prefilter = std::strcmp(words[5], "on") == 0;
  auto limiter = Limiter::create(redis_rules(leased   ? Consistency::leased
                                             : synced ? Consistency::synced
                                                      : Consistency::exact),
                                 settings);
  if (!limiter.ok() || !connect(loop, *limiter.value())) {
    std::cerr << "redis_load: no decision came from Redis\n";
    return 1;
  }
  const auto nodes = static_cast<std::uint32_t>(words.size() > 8 ? std::strtoul(words[8], nullptr, 10) : 1);
  if (node != nullptr && !node->await(loop, nodes)) {
    std::cerr << "redis_load: the other nodes did not come\n";
    return 1;
  }

  const std::uint64_t decisions = std::strtoull(words[2], nullptr, 10);
  const std::uint64_t calls_before = store->stats().script_calls;
  Load load(*limiter.value(), std::strtoull(words[4], nullptr, 10), keys);
  const auto start = steady_clock::now();
  load.run(loop, decisions, std::strtoull(words[3], nullptr, 10));
  const std::chrono::duration<double> took = steady_clock::now() - start;
  if (node != nullptr) {
    node->stop();
    node->store()->tick(true);
  }
  if (leased || synced) {
    // Draws and reports that are under way have answers to come.
    loop.restart();
    loop.run_for(std::chrono::milliseconds(50));
  }
  std::printf(R"({"decisions":%llu,"seconds":%.6f,"allowed":%llu,"degraded":%llu,"script_calls":%llu})"
              "\n",
              static_cast<unsigned long long>(decisions), took.count(), static_cast<unsigned long long>(load.allowed()),
              static_cast<unsigned long long>(load.degraded()),
              static_cast<unsigned long long>(store->stats().script_calls - calls_before));
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  if (argc != 6 && argc != 8 && argc != 9) {
    std::cerr
        << "usage: redis_load URL DECISIONS IN_FLIGHT FLOOD_PERCENT on|off [hot|zipf exact|leased|synced [NODES]]\n";
    return 2;
  }
  return weir::bench::measure({argv, static_cast<std::size_t>(argc)});
}
