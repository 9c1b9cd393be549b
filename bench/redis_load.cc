// Load on a Redis store from inside one process: one loop, one limiter, a fixed number of checks in flight. Prints one
// JSON object for bench/redis_suite.py.
//
//   redis_load URL DECISIONS IN_FLIGHT FLOOD_PERCENT PREFILTER
//
// FLOOD_PERCENT of the checks are on kFloodKeys exhausted keys, the others on kKeys keys that never are. PREFILTER is
// on or off.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string_view>

#include "bench/redis_rules.h"
#include "stores/redis/redis_store.h"
#include "stores/redis/url.h"
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

// Starts a check for each that ends, until `total` have ended.
class Load {
 public:
  Load(Limiter& limiter, std::uint64_t flood_percent) : limiter_(limiter), flood_percent_(flood_percent) {}

  void run(boost::asio::io_context& loop, std::uint64_t total, std::uint64_t in_flight) {
    total_ = total;
    most_ = in_flight;
    pump();
    while (ended_ < total_) {
      loop.restart();
      loop.run_one();
    }
  }
  std::uint64_t allowed() const { return allowed_; }
  std::uint64_t degraded() const { return degraded_; }

 private:
  // A check that is answered at once ends inside check(), and must not start the next one from there.
  void pump() {
    if (pumping_) return;
    pumping_ = true;
    while (started_ < total_ && started_ - ended_ < most_) {
      ++started_;
      start();
    }
    pumping_ = false;
  }
  void start() {
    const bool flood = next_random(random_) % 100 < flood_percent_;
    char key[17];
    std::snprintf(key, sizeof key, "%016llx",
                  static_cast<unsigned long long>(next_random(random_) % (flood ? kFloodKeys : kKeys)));
    limiter_.check({{"api_key", key}, {"action", flood ? "flood" : "search"}}, [this](const Decision& decision) {
      ++ended_;
      allowed_ += decision.allowed ? 1 : 0;
      degraded_ += decision.degraded ? 1 : 0;
      pump();
    });
  }

  Limiter& limiter_;
  const std::uint64_t flood_percent_;
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

int measure(char** words) {
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
  settings.store = store;
  settings.prefilter = std::strcmp(words[5], "on") == 0;
  auto limiter = Limiter::create(redis_rules(), settings);
  if (!limiter.ok() || !connect(loop, *limiter.value())) {
    std::cerr << "redis_load: no decision came from Redis\n";
    return 1;
  }

  const std::uint64_t decisions = std::strtoull(words[2], nullptr, 10);
  const std::uint64_t calls_before = store->stats().script_calls;
  Load load(*limiter.value(), std::strtoull(words[4], nullptr, 10));
  const auto start = steady_clock::now();
  load.run(loop, decisions, std::strtoull(words[3], nullptr, 10));
  const std::chrono::duration<double> took = steady_clock::now() - start;
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
  if (argc != 6) {
    std::cerr << "usage: redis_load URL DECISIONS IN_FLIGHT FLOOD_PERCENT on|off\n";
    return 2;
  }
  return weir::bench::measure(argv);
}
