#include "database/database.h"

#include <algorithm>
#include <future>

namespace weir::database {

Database::Database(Dialect dialect, std::string shown_name, ThreadCounts threads, const MakeConnection& make,
                   const Limits& limits)
    : dialect_(dialect), shown_name_(std::move(shown_name)), reads_(limits.max_queued), writes_(limits.max_queued) {
  for (const Access access : {Access::read, Access::write}) {
    const int count = access == Access::read ? threads.readers : threads.writers;
    for (int i = 0; i < count; ++i) {
      workers_.push_back(std::make_unique<Worker>(queue_of(access), make(access), limits.worker));
    }
  }
}

Database::~Database() { stop(); }

Status Database::submit(Task task) {
  TaskQueue& queue = queue_of(task.access);
  return queue.push(std::move(task));
}

Outcome Database::run(Access access, std::function<Status(Session&)> work, std::chrono::milliseconds patience) {
  std::promise<Outcome> ended;
  Status queued = submit({.access = access,
                          .work = std::move(work),
                          .done = [&ended](const Outcome& outcome) { ended.set_value(outcome); },
                          .deadline = std::chrono::steady_clock::now() + patience});
  if (!queued.ok()) return {std::move(queued)};
  return ended.get_future().get();
}

void Database::stop() {
  for (TaskQueue* queue : {&reads_, &writes_}) {
    for (const Task& task : queue->close()) task.done({Failure{Code::cancelled, "the database is being closed"}});
  }
  workers_.clear();  // waits for their threads
}

Health Database::health() const {
  Health health;
  health.queued = reads_.size() + writes_.size();
  const auto now = std::chrono::steady_clock::now();
  const auto count_lag = [&](const std::optional<std::chrono::steady_clock::time_point>& since) {
    if (since) health.lag = std::max(health.lag, std::chrono::duration_cast<std::chrono::microseconds>(now - *since));
  };
  count_lag(reads_.oldest());
  count_lag(writes_.oldest());
  for (const auto& worker : workers_) {
    count_lag(worker->running_since());
    if (std::string trouble = worker->trouble(); !trouble.empty()) {
      health.connected = false;
      health.trouble = std::move(trouble);
    }
    const Worker::Counts& counts = worker->counts();
    health.transactions += counts.transactions.load(std::memory_order_relaxed);
    health.failures += counts.failures.load(std::memory_order_relaxed);
    health.repeated += counts.repeated.load(std::memory_order_relaxed);
    health.opened += counts.opened.load(std::memory_order_relaxed);
    health.unknown += counts.unknown.load(std::memory_order_relaxed);
  }
  return health;
}

}  // namespace weir::database
