// Coordinator: the agent of one node that exchanges what a RegionBook holds with the other regions, through PostgreSQL.
//
// It has a thread of its own, which asks every `sync` and sooner when something is urgent; no loop ever waits for it.
// In one round, for at most kMostKeys keys each:
//
//   shares   one transaction: locks the keys, reads their rows, decides (shares.h), writes this node's rows
//   units    the same for windows (units.h)
//   cells    one transaction writes this region's cells; when it is committed, another reads all cells (cells.h)
//
// All times in the rows are the database's, so that the clocks of nodes need not agree. While the tables are new, or a
// node knows more than they say, they may have lost something: then no share is given for one lease.
//
// A database that is away costs nothing but its answers: shares lapse to the floor, and cells hold or continue. The
// rest is thread-safe. Borrows the database and the book.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "database/database.h"
#include "regions/region_book.h"
#include "weir/time.h"

namespace weir::regions {

struct CoordinatorOptions {
  Duration lease = std::chrono::seconds(10);
  Duration sync = std::chrono::milliseconds(200);
  std::shared_ptr<Clock> clock;
  // Brings the tables up to date; called until it has succeeded.
  std::function<Status(database::Database&)> prepare;
  // Logged when it begins and ends to fail. On the agent's thread.
  std::function<void(const Failure&)> on_away = [](const Failure&) {};
  std::function<void()> on_back = [] {};
};

class Coordinator {
 public:
  static constexpr std::size_t kMostKeys = 500;

  Coordinator(database::Database& database, RegionBook& book, CoordinatorOptions options);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  void start();
  // Idempotent. The database must still run.
  void stop();
  // From any thread: a round is due.
  void urgent();

  // Since it last answered; nothing: never.
  std::optional<Duration> age() const;
  bool connected() const { return connected_.load(std::memory_order_relaxed); }
  bool learning() const { return learning_.load(std::memory_order_relaxed); }
  std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  void run();
  // One exchange.
  Status round();
  Status exchange_shares();
  Status exchange_units();
  Status exchange_cells();
  Status clean_up();
  void note(const Status& status);

  database::Database& database_;
  RegionBook& book_;
  const CoordinatorOptions options_;
  bool prepared_ = false;  // of the thread, like the next
  TimePoint cleaned_{};
  std::atomic<bool> connected_{false};
  std::atomic<bool> learning_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::atomic<std::int64_t> answered_us_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool urgent_ = false;  // guarded by mutex_, like the next
  bool stopping_ = false;
  bool told_away_ = false;  // of the thread
  std::thread thread_;
};

}  // namespace weir::regions
