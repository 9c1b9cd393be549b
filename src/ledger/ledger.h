// Ledger: the truth about quotas. Accounts with their balances, every movement that made them, reservations, grants,
// and what nodes spend in memory; on a Database.
//
//   auto take = std::make_unique<Take>();
//   take->id = …;
//   take->legs = {{terms, 5}};
//   take->done = [](const Result<Answer>& answer) { … };     // on a thread of the ledger
//   ledger.submit(std::move(take));
//
// Changes are operations (operations/*.h); many callers share a transaction. Reading is in reading.h, export.h and
// verify.h. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "database/database.h"
#include "ledger/committer.h"
#include "ledger/operation.h"

namespace weir::ledger {

struct LedgerOptions {
  // With PostgreSQL, the time is the database's own, so that nodes agree on what has expired. False: always the
  // clock's.
  bool database_time = true;
  CommitterLimits committer;
};

class Ledger {
 public:
  // The database, whose migrations have run, and the clock are borrowed.
  Ledger(database::Database& database, Clock& clock, const LedgerOptions& options = {});

  // Decisions, in the order in which they come.
  void submit(std::unique_ptr<Operation> operation) { decisions_.submit(std::move(operation)); }
  // What no decision waits for: usage batches, sweeps. With PostgreSQL, decisions do not wait for it either.
  void submit_later(std::unique_ptr<Operation> operation) { background().submit(std::move(operation)); }
  // Waits for the answer. Not for event loops.
  Result<Answer> run(std::unique_ptr<Operation> operation);

  // Closes reservations and expires slices whose time has passed, up to `most` of each; returns how many units of
  // slices have expired and how many reservations were closed. Call it now and then.
  struct Swept {
    std::int64_t reservations = 0;
    std::int64_t expired_units = 0;
  };
  // The terms of the open period of an account whose period has closed. None: its rule is gone.
  using OpenTerms = std::function<std::optional<Terms>(const Account& closed, TimePoint now)>;
  // `open_terms`: for reservations that are committed when they expire, and were found after their period had closed.
  // Without it, or for a rule that is gone, such ones are not charged.
  Result<Swept> sweep(std::size_t most = 1000, const OpenTerms& open_terms = {});
  // Expires what a node still holds from before `epoch`: its process has ended, and its log has been replayed.
  Result<std::int64_t> close_epochs(const std::string& node, std::int64_t before_epoch);
  // Forgets answers whose time has passed. Returns how many.
  Result<std::int64_t> forget_answers();

  database::Database& database() { return database_; }
  // The time that operations see.
  Result<TimePoint> now();
  Committer::Counts counts() const;

 private:
  Result<std::int64_t> lapse(const std::vector<std::string>& reservations, TimePoint at, const OpenTerms& open_terms);
  Committer& background() { return later_ ? *later_ : decisions_; }

  database::Database& database_;
  Clock* const clock_;  // null: the time is the database's
  Committer decisions_;
  const std::unique_ptr<Committer> later_;
};

}  // namespace weir::ledger
