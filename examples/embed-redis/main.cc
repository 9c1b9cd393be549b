// Two or more of these programs share one limit through Redis. No server of ours is between them and Redis.
//
//   embed-redis redis://127.0.0.1:6379 rules.yaml 80
//
// asks for 80 jobs of the tenant acme from four threads, and prints how many were allowed.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "weir/limiter.h"
#include "weir/redis.h"

namespace {

void print(const weir::RedisEvent& event) {
  if (!event.reason.empty()) std::cerr << event.server << ": " << event.reason << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: embed-redis URL RULES JOBS\n";
    return 2;
  }
  weir::LimiterOptions options;
  if (const weir::Status used = weir::use_redis({.url = argv[1], .on_event = print}, options); !used.ok()) {
    std::cerr << used.failure().message << '\n';
    return 1;
  }
  auto limiter = weir::Limiter::open(argv[2], options);
  if (!limiter.ok()) {
    std::cerr << limiter.failure().message << '\n';
    return 1;
  }

  // The limiter is thread-safe: each of these waits for its own answers.
  constexpr int kThreads = 4;
  const int jobs = std::atoi(argv[3]);
  std::atomic<int> allowed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, count = jobs / kThreads + (i < jobs % kThreads ? 1 : 0)] {
      for (int job = 0; job < count; ++job) {
        if (limiter.value()->check({{"tenant", "acme"}, {"action", "job"}}).allowed) ++allowed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::cout << allowed << " of " << jobs << " allowed\n";
  return 0;
}
