#include "cli/load.h"

#include <sys/prctl.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/server_call.h"

namespace weir::cli {
namespace {

constexpr int kMostFailures = 10;  // in a row, on one connection
constexpr Duration kProgressEvery = std::chrono::milliseconds(250);

// What the connections share.
struct Run {
  const LoadPlan& plan;
  LoadTime& time;
  const TimePoint start = time.now();
  const TimePoint end = start + plan.duration;
  std::atomic<std::uint64_t> next{0};  // the next request to send
  std::atomic<std::uint64_t> done{0};

  Run(const LoadPlan& of, LoadTime& by) : plan(of), time(by) {}

  TimePoint due(std::uint64_t n) const {
    return start + Duration(std::llround(static_cast<double>(n) * 1e6 / plan.rate));
  }
};

void merge(LoadResult& all, const LoadResult& one) {
  all.allowed += one.allowed;
  all.denied += one.denied;
  if (all.failed == 0) all.first_failure = one.first_failure;
  all.failed += one.failed;
  all.latencies.merge(one.latencies);
}

bool is_denial(const HttpAnswer& answer) {
  return answer.status == 429 || (answer.status == 503 && DecisionView::read(answer.body).ok());
}

// Returns whether the call was answered with a decision.
bool count(const Result<HttpAnswer>& answer, LoadResult& result) {
  if (answer.ok() && answer.value().status == 200) {
    ++result.allowed;
    return true;
  }
  if (answer.ok() && is_denial(answer.value())) {
    ++result.denied;
    return true;
  }
  if (result.failed++ == 0) {
    result.first_failure = answer.ok() ? refusal_of(answer.value(), "POST /v1/check") : answer.failure();
  }
  return false;
}

// One connection until the end.
LoadResult drive(Run& run) {
  HttpClient client(run.plan.target);
  LoadResult result;
  int failures = 0;
  while (failures < kMostFailures) {
    TimePoint from = run.time.now();
    if (from >= run.end) break;
    const std::uint64_t n = run.next.fetch_add(1, std::memory_order_relaxed);
    if (run.plan.rate > 0) {
      const TimePoint due = run.due(n);
      if (due >= run.end) break;
      if (due > from) run.time.sleep(due - from);
      from = due;
    }
    const std::string& body = run.plan.bodies[run.plan.mix.pick(n)];
    const bool answered = count(client.post("/v1/check", body), result);
    if (answered) result.latencies.add((run.time.now() - from).count());
    failures = answered ? 0 : failures + 1;
    run.done.fetch_add(1, std::memory_order_relaxed);
  }
  return result;
}

}  // namespace

void LoadTime::sleep(Duration duration) { std::this_thread::sleep_for(duration); }

LoadResult run_load(const LoadPlan& plan, LoadTime& time, const LoadProgress& progress) {
  Run run(plan, time);
  std::mutex mutex;
  std::condition_variable finished;
  LoadResult all;                          // guarded by mutex
  std::size_t running = plan.connections;  // guarded by mutex
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < plan.connections; ++i) {
    threads.emplace_back([&] {
      ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // wake up when a request is due, not up to 50 us later
      const LoadResult one = drive(run);
      const std::lock_guard lock(mutex);
      merge(all, one);
      if (--running == 0) finished.notify_one();
    });
  }
  {
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, kProgressEvery, [&] { return running == 0; })) {
      lock.unlock();
      if (progress) progress(run.time.now() - run.start, run.done.load(std::memory_order_relaxed));
      lock.lock();
    }
  }
  for (std::thread& thread : threads) thread.join();
  all.took = run.time.now() - run.start;
  if (plan.rate > 0) {
    const auto due =
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(plan.duration.count()) * plan.rate / 1e6));
    all.unsent = due - std::min(due, all.sent());
  }
  return all;
}

}  // namespace weir::cli
