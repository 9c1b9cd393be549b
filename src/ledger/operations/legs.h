// Legs: the accounts that one operation reaches, with the units in each; and the checks that every operation makes of
// what it was given.
#pragma once

#include <string_view>
#include <vector>

#include "ledger/books.h"
#include "ledger/operation.h"
#include "ledger/posting.h"

namespace weir::ledger {

inline constexpr std::size_t kMaxLegs = 64;
inline constexpr std::size_t kMaxIdBytes = 256;
inline constexpr std::size_t kMaxReasonBytes = 2048;

struct Leg {
  Terms terms;
  std::int64_t amount = 0;
  bool binding = true;  // false (a shadow rule): counts, and too little here holds nothing back. Only Take looks at it
};

// Failures: invalid_argument, saying which field is wrong and what is expected.
Status check_terms(const Terms& terms);
Status check_legs(const std::vector<Leg>& legs);
Status check_amount(std::int64_t amount, std::int64_t least);
Status check_name(std::string_view what, std::string_view text, std::size_t most);
// Its id, actor, reason and key.
Status check_common(const Operation& operation);

// "closed" for the leg whose period no longer takes anything.
Answer closed_answer(const AccountKey& key, std::size_t leg);
// The same if the account is closed, or was not opened because it would be.
std::optional<Answer> refuse_closed(Books& books, const Terms& terms, std::size_t leg);
// "denied" for the leg that has too little.
Answer denied_answer(const Account& account, std::int64_t wanted, std::size_t leg);
// "denied" for an account that has been issued more than can be counted.
Answer overflow_answer(const Account& account, std::size_t leg);
Answer not_found(std::string message);
// For Operation::show() of an operation on one account.
void show_account(Books& books, const AccountKey& key, Answer& answer);

inline Posting::Beyond beyond_of(const Account& account) {
  return account.record_overage ? Posting::Beyond::record : Posting::Beyond::refuse;
}

// An operation on legs that all have terms.
class LegsOperation : public Operation {
 public:
  std::vector<Leg> legs;

  Status check() const override;
  void declare(Needs& needs) const override;
  void show(Books& books, Answer& answer) const override;

 protected:
  // The accounts, brought up to date. Sets `closed` if one is, as denied answers do.
  std::vector<Account*> open_all(Books& books, Posting& posting, std::optional<Answer>& closed) const;
  static Answer done_answer(const Posting& posting, const std::vector<Account*>& accounts);
};

}  // namespace weir::ledger
