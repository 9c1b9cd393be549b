// Database: work in transactions, on threads of its own, so that no event loop ever waits for a disk or a server.
//
//   Status queued = database.submit({
//       .access = Access::write,
//       .work = [](Session& session) -> Status { … },     // on a database thread, perhaps more than once
//       .done = [](const Outcome& outcome) { … },         // once, on the same thread
//       .deadline = std::chrono::steady_clock::now() + 2s});
//
// Work is run again when another transaction was in its way (a deadlock, a serialization failure) and when the
// connection was lost before the commit was sent. So it must assign what it computes from the beginning each time. It
// is not run again when the outcome of a commit is unknown; that is reported, because only the caller can look it up.
//
// While the database cannot be reached, work fails at once, and connecting is tried again with growing pauses. The
// queues are bounded. Thread-safe. What is still queued at the end fails with `cancelled`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "database/worker.h"

namespace weir::database {

struct Limits {
  std::size_t max_queued = 10'000;  // transactions, for each kind of access
  WorkerLimits worker;
};

// Threads, each with a connection, for each kind of access.
struct ThreadCounts {
  int writers = 1;
  int readers = 1;
};

struct Health {
  bool connected = true;  // false: the last attempt to connect failed
  std::string trouble;    // why
  std::size_t queued = 0;
  std::chrono::microseconds lag{0};  // for how long the oldest transaction that is not done has waited
  // Since the start.
  std::uint64_t transactions = 0;  // committed
  std::uint64_t failures = 0;
  std::uint64_t repeated = 0;  // attempts beyond the first
  std::uint64_t opened = 0;    // connections
  std::uint64_t unknown = 0;   // commits whose outcome is not known
};

class Database {
 public:
  using MakeConnection = std::function<std::unique_ptr<Connection>(Access access)>;

  Database(Dialect dialect, std::string shown_name, ThreadCounts threads, const MakeConnection& make,
           const Limits& limits = {});
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Failures: resource_exhausted (the queue is full), cancelled (stopped); then `done` is not called.
  Status submit(Task task);

  // Waits for the outcome. Not for event loops, and not from a database thread.
  Outcome run(Access access, std::function<Status(Session&)> work,
              std::chrono::milliseconds patience = std::chrono::seconds(30));

  // Waits for the transactions that are running; fails the others. Called by the destructor too.
  void stop();

  Health health() const;
  Dialect dialect() const { return dialect_; }
  // For people: the path or address, without a password.
  const std::string& shown_name() const { return shown_name_; }

 private:
  TaskQueue& queue_of(Access access) { return access == Access::read ? reads_ : writes_; }

  const Dialect dialect_;
  const std::string shown_name_;
  TaskQueue reads_;
  TaskQueue writes_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace weir::database
