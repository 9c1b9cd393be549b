// What nodes spend in memory: epochs, slices, and the usage that they report in batches.
//
// A node opens an epoch at each start. It holds slices of accounts, spends them without asking, and reports what it
// spent under (node, epoch, seq); a batch that comes again changes nothing. When a slice's time has passed, what was
// not reported expires: it counts against the limit and is not billed, until the node reports it late after all.
#pragma once

#include "ledger/operations/legs.h"

namespace weir::ledger {

// A new run of a node: `epoch` of the answer, higher than any before it. Older ones can no longer take slices.
class OpenEpoch final : public Operation {
 public:
  std::string node;

  Status check() const override;
  void declare(Needs& needs) const override { needs.nodes.insert(node); }
  Answer apply(Books& books, Posting& posting) override;
};

// Units for a node to spend: `granted`, until `expires`. At most `want`, at least `least`, and beyond that no more than
// a share of what is left (one half, divided by the live nodes), so that slices get smaller near the end. Verdicts:
// done, denied (there are not `least`), stale, closed.
class TakeSlice final : public Operation {
 public:
  Terms terms;
  std::string node;
  std::int64_t epoch = 0;
  std::int64_t want = 0;
  std::int64_t least = 1;
  Duration ttl = std::chrono::seconds(30);

  Status check() const override;
  void declare(Needs& needs) const override;
  Answer apply(Books& books, Posting& posting) override;
  std::unique_ptr<Operation> undo(const Answer& answer) const override;
};

// Everything that the node holds lives `ttl` longer from now. Verdicts: done, stale.
class RenewSlices final : public Operation {
 public:
  std::string node;
  std::int64_t epoch = 0;
  Duration ttl = std::chrono::seconds(30);

  Status check() const override;
  void declare(Needs& needs) const override { needs.nodes.insert(node); }
  Answer apply(Books& books, Posting& posting) override;
};

// What the node does not need. `returned` says how much of it was still held.
class ReturnSlice final : public Operation {
 public:
  AccountKey account;
  std::string node;
  std::int64_t epoch = 0;
  std::int64_t amount = 0;

  Status check() const override;
  void declare(Needs& needs) const override;
  Answer apply(Books& books, Posting& posting) override;
};

// What a node has spent. Accepted from old epochs too. `granted` is all of it; `overage` what neither its slices nor
// the accounts had: the node admitted it, so it is billed, and recorded as overage.
class UsageBatch final : public Operation {
 public:
  struct Record {
    AccountKey account;
    std::int64_t spent = 0;           // of slices
    std::int64_t without = 0;         // admitted without one, while the ledger was unavailable
    std::optional<Terms> terms = {};  // of an account that may not exist yet
  };
  std::string node;
  std::int64_t epoch = 0;
  std::int64_t seq = 0;
  std::vector<Record> records;

  static constexpr std::size_t kMaxRecords = 10'000;

  // Node, epoch and seq make the id.
  void name_itself();
  Status check() const override;
  void declare(Needs& needs) const override;
  // Verdicts: done, not_found (an account that does not exist; nothing is recorded).
  Answer apply(Books& books, Posting& posting) override;
};

// The unreported rest of slices expires: of those whose time has passed, or whatever their time (`now_in_any_case`),
// because their node has ended. The slices come from a query; each is checked again.
class ExpireSlices final : public Operation {
 public:
  std::vector<Books::SliceKey> slices;
  bool now_in_any_case = false;

  Status check() const override { return check_common(*this); }
  void declare(Needs& needs) const override;
  // `granted`: units that expired.
  Answer apply(Books& books, Posting& posting) override;
};

}  // namespace weir::ledger
