// Posting: the arithmetic of one operation on the books. Every change of a balance is an entry.
//
// Units are used in this order: the allowance, grants (by priority, expiry, age), grace, overage. What is given back
// returns in the opposite order, so that taking and giving back leaves everything as it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger/books.h"

namespace weir::ledger {

class Posting {
 public:
  // Both are borrowed.
  Posting(Books& books, const Operation& operation) : books_(books), operation_(operation) {}

  // The account of these terms, brought up to date with them: opened, its limit raised or lowered, grants carried into
  // it or expired. Precondition: it is in the books.
  Account& open(const Terms& terms);
  // The same for one whose terms are not known: only grants expire.
  void refresh(Account& account);

  enum class Beyond : std::uint8_t {
    refuse,  // limit and grace bound it
    record,  // more is admitted and recorded as overage
  };
  // What can be drawn without overage.
  static std::int64_t takeable(const Account& account) { return account.available + account.grace_left(); }
  static bool can_draw(const Account& account, std::int64_t amount, Beyond beyond);
  // Moves units out of `available`, as `kind` says, and as much grace and overage into it before as that needs. Nothing
  // happens for 0 units. Precondition: can_draw().
  void draw(Account& account, EntryKind kind, std::int64_t amount, Beyond beyond, const std::string& about = {});
  // Moves units into `available`, as `kind` says, and withdraws what was only issued because they were missing.
  // Precondition: they are in the bucket that `kind` takes them from.
  void give_back(Account& account, EntryKind kind, std::int64_t amount, const std::string& about = {});
  // An entry without anything else: from held or expired to used or expired.
  void post(Account& account, EntryKind kind, std::int64_t amount, const std::string& about = {});
  // A grant becomes available. Precondition: the account is open.
  void grant(Account& account, const Grant& grant);

  // After the operation: its entries learn how many accounts it reached.
  void finish();

  std::int64_t overage() const { return overage_; }
  std::int64_t grace() const { return grace_; }

 private:
  void follow(Account& account, const Terms& terms);
  void carry_into(Account& account);
  void burn_grants(Account& account);
  std::int64_t restore_grants(Account& account, std::int64_t amount);

  Books& books_;
  const Operation& operation_;
  std::vector<std::size_t> entries_;  // in books_.entries
  std::int64_t overage_ = 0;
  std::int64_t grace_ = 0;
};

}  // namespace weir::ledger
