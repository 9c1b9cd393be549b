// Task: work for a database thread, and TaskQueue, where it waits for one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "database/connection.h"

namespace weir::database {

struct Outcome {
  Status status = success();
  // The commit was sent and its answer lost. Look up what was to be written before writing it again.
  bool unknown = false;

  bool ok() const { return status.ok(); }
};

struct Task {
  Access access = Access::write;
  std::function<Status(Session&)> work;
  std::function<void(const Outcome&)> done;
  // By then it has ended, or it fails with deadline_exceeded.
  Connection::Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::chrono::steady_clock::time_point queued{};  // set by the queue
};

// First in, first out, bounded. Thread-safe.
class TaskQueue {
 public:
  explicit TaskQueue(std::size_t most) : most_(most) {}

  // Failures: resource_exhausted (full), cancelled (closed); the task is then unchanged.
  Status push(Task&& task) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return Failure{Code::cancelled, "the database is being closed"};
      if (waiting_.size() >= most_) {
        return Failure{Code::resource_exhausted,
                       "too much work is waiting for the database (" + std::to_string(most_) + " transactions)"};
      }
      task.queued = std::chrono::steady_clock::now();
      waiting_.push_back(std::move(task));
    }
    filled_.notify_one();
    return success();
  }

  // Waits for a task. Nothing: closed.
  std::optional<Task> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (closed_) return std::nullopt;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    return task;
  }

  // Waits, unless or until it is closed.
  void pause(std::chrono::milliseconds duration) {
    std::unique_lock lock(mutex_);
    closing_.wait_for(lock, duration, [this] { return closed_; });
  }

  // Returns what was waiting.
  std::deque<Task> close() {
    std::deque<Task> left;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      left.swap(waiting_);
    }
    filled_.notify_all();
    closing_.notify_all();
    return left;
  }

  // Since when the oldest waits; nothing: none does.
  std::optional<std::chrono::steady_clock::time_point> oldest() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().queued);
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable closing_;
  std::deque<Task> waiting_;  // guarded by mutex_
  bool closed_ = false;       // guarded by mutex_
};

}  // namespace weir::database
