// What is taken from accounts for good, and what is put right afterwards: Take, ReportUsage, Refund, Adjust, Reverse.
#pragma once

#include "ledger/operations/legs.h"

namespace weir::ledger {

// A strict decision: the units of all legs, or nothing. What does not fit into a leg that does not bind is recorded
// there as overage. Verdicts: done, denied, closed.
class Take final : public LegsOperation {
 public:
  Answer apply(Books& books, Posting& posting) override;
  std::unique_ptr<Operation> undo(const Answer& answer) const override;
};

// Consumption that has happened: always recorded, what is beyond limit and grace as overage. The terms are those of the
// period that contains `effective`. Verdicts: done, closed.
class ReportUsage final : public LegsOperation {
 public:
  Answer apply(Books& books, Posting& posting) override;
};

// Gives back what was used, in each account at most that. `returned` is the least of them. Verdicts: done, closed.
class Refund final : public LegsOperation {
 public:
  Answer apply(Books& books, Posting& posting) override;
};

// A correction by a person, who says why: charges units (positive), or credits them (negative), at most what was used.
// `corrects` may name a closed period. Verdicts: done, closed.
class Adjust final : public Operation {
 public:
  Terms terms;
  std::int64_t amount = 0;
  std::string corrects;

  Status check() const override;
  void declare(Needs& needs) const override { needs.add(terms); }
  Answer apply(Books& books, Posting& posting) override;
  void show(Books& books, Answer& answer) const override { show_account(books, terms.key, answer); }
};

// Gives back what one operation used, in all its accounts, once. Verdicts: done, gone (it was reversed before), closed,
// not_found (there is no such operation, or it used nothing).
class Reverse final : public Operation {
 public:
  std::string operation;
  // The key under which the operation's answer is remembered, if any: the answer is forgotten, and if it was repeated
  // to another caller, nothing is reversed (gone).
  std::string key;
  std::int64_t of_account = 0;  // not 0: only if it used something of this account, else not_found

  Status check() const override;
  void declare(Needs& needs) const override {
    needs.operations.insert(operation);
    if (!key.empty()) needs.keys.insert(key);
  }
  Answer apply(Books& books, Posting& posting) override;
};

}  // namespace weir::ledger
