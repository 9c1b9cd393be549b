// QuotaRetention: removes what is old from the ledger while the server runs (the setting quota.keep), as `weir quota
// prune` does: entries of periods that ended longer ago than that and were exported. An entry of the audit trail says
// what was removed.
//
// A pass over all accounts begins at the start and an hour after the last one ended; it goes on a little at each call,
// so that it never blocks the caller's thread for long. On one thread; counts may be read from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "database/database.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "weir/time.h"

namespace weir::server {

class QuotaRetention {
 public:
  // The database and the log are borrowed. `keep` 0: everything stays.
  QuotaRetention(database::Database& database, observe::Log& log, Duration keep, std::string node)
      : database_(database), log_(log), keep_(keep), node_(std::move(node)) {}

  // Waits for the database. `now`: the wall clock's.
  void remove_some(TimePoint now);
  void add_facts(observe::Facts& facts) const;

 private:
  // Failure: the database did not answer; the pass goes on at the next call.
  Status go_on(TimePoint now);
  Result<std::int64_t> exported() const;

  database::Database& database_;
  observe::Log& log_;
  const Duration keep_;
  const std::string node_;

  std::int64_t after_ = 0;  // the last account that this pass has checked
  std::int64_t unexported_ = 0;
  TimePoint next_pass_{};
  std::atomic<std::int64_t> removed_entries_{0};
  std::atomic<std::int64_t> waiting_{0};  // accounts that the last pass left because they were not exported
};

}  // namespace weir::server
