#include "database/worker.h"

#include <algorithm>

namespace weir::database {

Worker::Worker(TaskQueue& queue, std::unique_ptr<Connection> connection, const WorkerLimits& limits)
    : queue_(queue), connection_(std::move(connection)), limits_(limits), thread_([this] { work(); }) {}

Worker::~Worker() { thread_.join(); }

std::string Worker::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::optional<std::chrono::steady_clock::time_point> Worker::running_since() const {
  const std::lock_guard lock(mutex_);
  return running_since_;
}

void Worker::note_running(std::optional<Clock::time_point> since) {
  const std::lock_guard lock(mutex_);
  running_since_ = since;
}

void Worker::note_trouble(std::string message) {
  const std::lock_guard lock(mutex_);
  trouble_ = std::move(message);
}

void Worker::work() {
  while (std::optional<Task> task = queue_.pop()) {
    note_running(task->queued);
    const Outcome outcome = perform(*task);
    note_running(std::nullopt);
    (outcome.ok() ? counts_.transactions : counts_.failures).fetch_add(1, std::memory_order_relaxed);
    if (outcome.unknown) counts_.unknown.fetch_add(1, std::memory_order_relaxed);
    task->done(outcome);
  }
  if (connection_->is_open()) connection_->close();
}

Outcome Worker::perform(const Task& task) {
  for (int number = 1;; ++number) {
    if (Clock::now() >= task.deadline) {
      return {Failure{Code::deadline_exceeded, "the database did not do the work in time"}};
    }
    if (std::optional<Outcome> outcome = attempt(task)) return *std::move(outcome);
    if (number == limits_.max_attempts) {
      return {Failure{Code::aborted, "given up after " + std::to_string(number) +
                                         " attempts: other transactions, or lost connections, were in the way"}};
    }
    counts_.repeated.fetch_add(1, std::memory_order_relaxed);
    pause_before(number);
  }
}

std::optional<Outcome> Worker::attempt(const Task& task) {
  if (Status opened = ensure_open(task.deadline); !opened.ok()) return Outcome{std::move(opened)};
  connection_->set_deadline(task.deadline);
  Status status = connection_->begin(task.access);
  if (status.ok()) status = task.work(*connection_);
  if (status.ok()) {
    Failure failure;
    switch (connection_->commit(failure)) {
      case Connection::Committed::yes:
        return Outcome{};
      case Connection::Committed::unknown:
        note_trouble(failure.message);
        connection_->close();
        return Outcome{
            Failure{Code::unavailable, "it is not known whether the transaction was committed: " + failure.message},
            true};
      case Connection::Committed::no:
        status = std::move(failure);
    }
  }
  const Connection::Trouble trouble = connection_->trouble();
  if (trouble == Connection::Trouble::lost) {
    note_trouble(status.failure().message);
    connection_->close();
  } else {
    connection_->rollback();
  }
  if (trouble == Connection::Trouble::none || trouble == Connection::Trouble::refused)
    return Outcome{std::move(status)};
  return std::nullopt;
}

Status Worker::ensure_open(Clock::time_point deadline) {
  if (connection_->is_open()) return success();
  const Clock::time_point now = Clock::now();
  if (now < connect_after_) return Failure{Code::unavailable, "no connection to the database: " + trouble()};
  Status opened = connection_->open(std::min(deadline, now + limits_.connect_timeout));
  if (opened.ok()) {
    counts_.opened.fetch_add(1, std::memory_order_relaxed);
    note_trouble({});
    connect_pause_ = std::chrono::milliseconds(0);
    return opened;
  }
  connect_pause_ = std::clamp(connect_pause_ * 2, limits_.first_pause, limits_.longest_pause);
  const auto jitter = std::uniform_int_distribution<std::int64_t>(0, connect_pause_.count() / 4)(random_);
  connect_after_ = Clock::now() + connect_pause_ + std::chrono::milliseconds(jitter);
  note_trouble(opened.failure().message);
  return Failure{Code::unavailable, "no connection to the database: " + opened.failure().message};
}

void Worker::pause_before(int attempt) {
  const std::int64_t longest = std::int64_t{2} << std::min(attempt, 6);
  queue_.pause(std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(1, longest)(random_)));
}

}  // namespace weir::database
