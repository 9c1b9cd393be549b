// GrantUnits: a top-up.
#pragma once

#include "ledger/operations/legs.h"

namespace weir::ledger {

// Available at once in the period of the terms, and in later ones until it is used or expires. The operation's id is
// the grant's. Verdicts: done, closed.
class GrantUnits final : public Operation {
 public:
  Terms terms;
  std::int64_t amount = 0;
  std::int64_t priority = 0;
  TimePoint expires;

  Status check() const override;
  void declare(Needs& needs) const override { needs.add(terms); }
  Answer apply(Books& books, Posting& posting) override;
  void show(Books& books, Answer& answer) const override { show_account(books, terms.key, answer); }
};

}  // namespace weir::ledger
