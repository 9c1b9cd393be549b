// Committer: executes operations in groups. While one transaction is on its way to the disk, the operations of other
// callers gather; the next transaction takes them all, so that many callers share one commit.
//
// A group is executed in order and all of it is committed, or nothing. If the database refuses a group because of one
// of its operations, each is executed alone, so that only that one fails. If the answer to a commit is lost, the row of
// this committer says whether it happened; until that can be read, the operations wait. One whose deadline passes
// meanwhile, or while the database does not answer, fails then, and is undone if it turns out to have been done.
//
// Thread-safe; has two threads of its own, one that executes and one that watches deadlines.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "database/database.h"
#include "ledger/operation.h"

namespace weir::ledger {

struct CommitterLimits {
  std::size_t max_queued = 20'000;
  std::size_t max_group = 512;  // operations in one transaction
};

class Committer {
 public:
  struct Counts {
    std::uint64_t operations = 0;
    std::uint64_t groups = 0;
    std::uint64_t alone = 0;    // groups that were executed one by one
    std::uint64_t unknown = 0;  // commits whose answer was lost
    std::uint64_t undone = 0;   // operations that were undone after that
  };

  // The database, and the clock if there is one, are borrowed. Without a clock, the time is the database's own.
  Committer(database::Database& database, Clock* clock, const CommitterLimits& limits = {});
  // Executes what is queued, if the database can do it at once; the rest fails with `cancelled`.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // Calls `done` of the operation exactly once, here if it cannot be queued.
  void submit(std::unique_ptr<Operation> operation);

  Counts counts() const;
  std::size_t queued() const;

 private:
  using Group = std::vector<std::unique_ptr<Operation>>;
  // A group that is being executed, or whose commit was sent and not answered.
  struct Underway {
    Group group;
    std::vector<bool> refused;  // the caller was told that it failed
    std::int64_t number = 0;
    std::vector<Answer> answers = {};  // if its commit was not answered
  };

  void work();
  Group next_group();
  void execute(Group group, int attempt = 1);
  void execute_alone(Group group, int attempt);
  // What a transaction of the group does. Fills `answers`.
  Status perform(database::Session& session, const Group& group, std::int64_t number, std::vector<Answer>& answers);
  Result<TimePoint> begin_number(database::Session& session, std::int64_t number);
  static Answer perform_one(Operation& operation, Books& books);
  Underway take_underway();
  // Tries to learn what became of a commit that was not answered. True if there is none any more.
  bool resolve();
  void settle(bool committed);
  // Of a group that was committed: answers the callers, and undoes what those were refused that it was too late for.
  void conclude(Underway& done, std::vector<Answer>& answers);
  void watch();
  void fail_overdue(std::unique_lock<std::mutex>& lock);
  static void finish(Operation& operation, const Result<Answer>& answer);
  static void fail(Group& group, const Failure& failure);

  database::Database& database_;
  Clock* const clock_;
  const CommitterLimits limits_;
  const std::string id_;

  mutable std::mutex mutex_;
  std::condition_variable filled_;                // wakes the thread that executes, alone
  std::condition_variable closing_;               // wakes the one that watches
  std::deque<std::unique_ptr<Operation>> queue_;  // guarded by mutex_
  bool stopped_ = false;                          // guarded by mutex_
  Counts counts_;                                 // guarded by mutex_
  // Set and taken by thread_, with the lock. The other thread changes only what is refused, and takes `done` of those.
  std::optional<Underway> underway_;

  // Only on thread_.
  std::int64_t last_number_ = 0;
  TimePoint last_time_{};

  std::thread thread_;
  std::thread watcher_;
};

}  // namespace weir::ledger
