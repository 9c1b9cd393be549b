// Worker: one database thread with one connection. Opens it when there is work, runs transactions, repeats those that
// another transaction was in the way of, and opens the connection again after it was lost.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "database/task.h"

namespace weir::database {

struct WorkerLimits {
  int max_attempts = 8;  // to run one task
  std::chrono::milliseconds connect_timeout{3000};
  std::chrono::milliseconds first_pause{50};  // before connecting again; doubles
  std::chrono::milliseconds longest_pause{5000};
};

class Worker {
 public:
  // Since the start.
  struct Counts {
    std::atomic<std::uint64_t> transactions{0};  // committed
    std::atomic<std::uint64_t> failures{0};
    std::atomic<std::uint64_t> repeated{0};
    std::atomic<std::uint64_t> opened{0};
    std::atomic<std::uint64_t> unknown{0};
  };

  // The queue is borrowed. The thread ends when the queue is closed.
  Worker(TaskQueue& queue, std::unique_ptr<Connection> connection, const WorkerLimits& limits);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const Counts& counts() const { return counts_; }
  // Why there is no connection; empty if there is one, or none was needed yet.
  std::string trouble() const;
  // When the task that runs was queued; nothing: none runs.
  std::optional<std::chrono::steady_clock::time_point> running_since() const;

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  Outcome perform(const Task& task);
  // Nothing: to be tried again.
  std::optional<Outcome> attempt(const Task& task);
  Status ensure_open(Clock::time_point deadline);
  void note_trouble(std::string message);
  void note_running(std::optional<Clock::time_point> since);
  // Between attempts, longer each time and of random length, so that two that collided do not collide again.
  void pause_before(int attempt);

  TaskQueue& queue_;
  const std::unique_ptr<Connection> connection_;
  const WorkerLimits limits_;
  Counts counts_;
  mutable std::mutex mutex_;
  std::string trouble_;  // guarded by mutex_, like the next
  std::optional<Clock::time_point> running_since_;

  // Only on the thread.
  std::chrono::milliseconds connect_pause_{0};
  Clock::time_point connect_after_{};
  std::minstd_rand random_{std::random_device{}()};

  std::thread thread_;
};

}  // namespace weir::database
