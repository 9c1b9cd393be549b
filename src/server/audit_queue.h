// AuditQueue: entries of the audit trail about changes that must not wait for the database, such as the reset of a
// bucket by a caller of the API. Each entry is logged at once, waits here, and is written in the background; while the
// database does not answer it is tried again.
//
//   if (!queue.reserve()) return refuse();     // full: the change must not be made
//   change();
//   queue.add(entry);                          // takes the place
//
// A place is reserved before the change, so no change is made whose entry has no room. What still waits when the
// process ends without a database is lost: counted and logged.
//
// Thread-safe, except write() and finish(): for one thread at a time. Borrows the database and the log.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "control/audit_trail.h"
#include "database/database.h"
#include "observe/log.h"

namespace weir::server {

class AuditQueue {
 public:
  static constexpr std::size_t kMaxEntries = 10'000;
  static constexpr std::size_t kMaxBatch = 500;  // of one transaction

  struct Counts {
    std::size_t waiting = 0;
    std::uint64_t written = 0;
    std::uint64_t refused = 0;  // changes that were not made
    std::uint64_t lost = 0;
  };

  explicit AuditQueue(observe::Log& log) : log_(log) {}
  // Before the first entry; without it entries are only logged. `is_ready`: the tables exist.
  void use(database::Database& database, std::function<bool()> is_ready) {
    database_ = &database;
    is_ready_ = std::move(is_ready);
  }

  // False: there is no room.
  bool reserve();
  // Precondition: a place was reserved for it. The entry differs from every other one in `after`.
  void add(control::AuditEntry entry);

  // Hands what waits to the database, unless it is still busy with the last batch.
  void write();
  // The same, and waits until all is written or the database does not answer; then the rest is lost. Idempotent.
  void finish();

  Counts counts() const;

 private:
  using Batch = std::vector<control::AuditEntry>;

  std::shared_ptr<const Batch> next_batch() const;
  static Status store(database::Session& session, const Batch& batch);
  void settle(const Batch& batch, const database::Outcome& outcome);

  database::Database* database_ = nullptr;
  std::function<bool()> is_ready_;
  observe::Log& log_;
  mutable std::mutex mutex_;
  // Guarded by mutex_, like what follows.
  std::deque<control::AuditEntry> waiting_;  // the first ones may be with the database
  std::size_t places_ = 0;                   // of those that wait, and reserved
  std::size_t most_ = kMaxBatch;             // of the next batch
  bool busy_ = false;                        // a batch is with the database
  bool failed_ = false;                      // the database did not answer for the last one
  bool told_ = false;                        // what was lost at the end
  std::condition_variable settled_;
  Counts counts_;
};

}  // namespace weir::server
