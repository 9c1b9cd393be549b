// Operation: one change of the ledger, such as a decision that takes units from three accounts. It happens wholly or
// not at all. Many operations of many callers share one transaction (committer.h).
//
// Executing one has three steps: it declares what it needs, that is read and locked, and apply() changes it in memory.
// The changes of all operations are then written together. apply() may run more than once, each time on what has been
// read again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "database/session.h"
#include "ledger/account.h"
#include "weir/result.h"

namespace weir::ledger {

class Books;
class Posting;

enum class Verdict : std::uint8_t {
  done,
  denied,     // there is not enough, and nothing was changed
  conflict,   // the key of this operation belongs to another request
  not_found,  // no such reservation, account, or operation
  gone,       // the reservation is closed, or its time has passed
  stale,      // the node has a newer epoch: another process took its place
  closed,     // the period is closed
};
std::string_view verdict_name(Verdict verdict);

// What an operation has done. Which numbers mean something depends on it.
struct Answer {
  Verdict verdict = Verdict::done;
  bool replayed = false;       // it had been done before, with the same key
  std::int64_t granted = 0;    // units taken, held, granted or charged, in each account
  std::int64_t returned = 0;   // units that became available again
  std::int64_t overage = 0;    // units recorded beyond limit and grace, in all accounts
  std::int64_t grace = 0;      // units of grace, in all accounts
  std::int64_t uncharged = 0;  // units that were used and could not be charged
  std::int64_t leg = 0;        // denied, closed: which account
  std::int64_t epoch = 0;
  TimePoint expires{};
  std::int64_t added = 0;            // extend: units
  TimePoint before{};                // extend: when it would have expired without it
  std::vector<std::size_t> skipped;  // legs that do not bind and had too little; not after a replay
  std::string message;               // for people, if it is not done
  std::vector<Account> accounts;     // afterwards, in the order of the operation
};

// For idempotency: the key belongs to one request, and repeats its answer.
struct Once {
  std::string key;      // with whose key it is: scope and key
  std::string request;  // a hash of what was asked
  TimePoint keep_until;
};

// What operations read and lock.
struct Needs {
  using SliceOf = std::tuple<AccountKey, std::string, std::int64_t>;    // node, epoch
  using BatchOf = std::tuple<std::string, std::int64_t, std::int64_t>;  // node, epoch, seq
  using SliceIn = std::tuple<std::int64_t, std::string, std::int64_t>;  // account, node, epoch

  std::map<AccountKey, const Terms*> accounts;  // with terms: opened if need be, unless the period is closed
  std::set<AccountKey> late;                    // those that are opened even then
  std::set<std::int64_t> account_ids;
  std::set<SliceOf> slices;            // of accounts above
  std::set<SliceIn> slice_ids;         // likewise
  std::set<std::string> reservations;  // with their accounts
  std::set<std::string> nodes;
  std::set<BatchOf> batches;
  std::set<std::string> operations;  // the entries of earlier ones, with their accounts
  std::set<std::string> keys;        // of Once
  bool live_nodes = false;           // how many there are

  void add(const Terms& terms) { accounts[terms.key] = &terms; }
  void add_late(const Terms& terms) {
    add(terms);
    late.insert(terms.key);
  }
  void add(const AccountKey& key) { accounts.try_emplace(key, nullptr); }
};

class Operation {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  // On a thread of the ledger. A failure: it was not done, or will be reversed.
  using Done = std::function<void(const Result<Answer>&)>;

  virtual ~Operation() = default;

  // Unique; the name of its entries.
  std::string id;
  std::optional<Once> once;
  std::string actor;
  std::string reason;
  TimePoint effective{};  // when it happened; none: now
  Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  Done done;
  // Runs in the transaction that commits the operation, after what it changed was written, if it was done (and not
  // replayed): for what must be written with it or not at all. A failure: the operation was not done.
  std::function<Status(database::Session&, const Books&, const Answer&)> also;

  // Failure: invalid_argument, for what no ledger could do (a negative amount, an account twice).
  virtual Status check() const = 0;
  virtual void declare(Needs& needs) const = 0;
  // Precondition: what was declared is in the books.
  virtual Answer apply(Books& books, Posting& posting) = 0;
  // A replayed answer tells the accounts as they are now.
  virtual void show(Books&, Answer&) const {}
  // What undoes it, if its caller was told that it failed and it turns out to have been done. Null: nothing needs to.
  virtual std::unique_ptr<Operation> undo(const Answer&) const { return nullptr; }
};

}  // namespace weir::ledger
