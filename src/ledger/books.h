// Books: what one transaction has read of the ledger, and how it has changed. In memory; tables.h reads and writes it.
//
// Not thread-safe. References to what is in it stay valid.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ledger/account.h"
#include "ledger/operation.h"

namespace weir::ledger {

// A row as it was read, and as it is now.
template <typename Row>
struct Kept {
  Row now;
  std::optional<Row> read;  // none: it is new

  bool changed() const { return !read || !(*read == now); }
};

// A remembered answer.
struct Remembered {
  std::string key;
  std::string request;
  std::string operation;
  std::string answer;
  TimePoint keep_until;

  friend bool operator==(const Remembered&, const Remembered&) = default;
};

class Books {
 public:
  using SliceKey = std::tuple<std::int64_t, std::string, std::int64_t>;  // account, node, epoch
  using BatchKey = std::tuple<std::string, std::int64_t, std::int64_t>;  // node, epoch, seq
  using RenewalKey = std::tuple<std::string, std::int64_t>;              // node, epoch

  explicit Books(TimePoint now) : now_(now) {}

  TimePoint now() const { return now_; }

  // Null: there is none.
  Account* find(const AccountKey& key);
  Account* find(std::int64_t id);
  Reservation* find_reservation(const std::string& id);
  Node* find_node(const std::string& name);
  Slice* find_slice(std::int64_t account, const std::string& node, std::int64_t epoch);
  Remembered* find_remembered(const std::string& key);
  bool has_batch(const BatchKey& key) const { return batches.contains(key); }

  Slice& slice(std::int64_t account, const std::string& node, std::int64_t epoch);
  // The grants whose rest is available in an account, in the order in which they are used.
  std::vector<Grant*> grants_in(const Account& account);
  // Those of the same rule and subject that are in accounts of earlier periods.
  std::vector<Grant*> grants_before(const Account& account);

  // Filled by what reads; changed by Posting and operations.
  std::map<std::int64_t, Kept<Account>> accounts;
  std::map<AccountKey, std::int64_t> ids;
  std::map<std::string, Kept<Grant>> grants;
  std::map<SliceKey, Kept<Slice>> slices;
  std::map<std::string, Kept<Reservation>> reservations;
  std::map<std::string, Kept<Node>> nodes;
  std::map<std::string, Kept<Remembered>> remembered;
  std::map<BatchKey, bool> batches;  // true: new
  std::map<RenewalKey, TimePoint> renewals;
  std::map<std::string, std::vector<Entry>> earlier;  // entries, by operation
  std::map<std::string, bool> reversed;               // operations that were
  std::int64_t live_nodes = 1;

  std::vector<Entry> entries;  // new ones

 private:
  TimePoint now_;
};

}  // namespace weir::ledger
