// Verify: proves, from the entries alone, that the ledger is right.
//
//   I1 the balance of every account is the sum of its entries
//   I2 what is held is what open reservations and slices hold
//   I3 no bucket was ever below zero
//   I4 a reservation was closed at most once
//   I5 the versions of an account's entries are 1, 2, 3 …
//   I6 an answer that is remembered as denied has moved nothing, and one that is remembered as done has
//   I7 an operation has reached all its accounts
//   I8 nothing was issued beyond limit, grants and grace, except what is recorded as overage
//   I9 every entry belongs to an account and is exported once
//
// Reads everything, in one transaction: for tests, `weir quota verify`, and after restoring a backup.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "database/database.h"

namespace weir::ledger {

struct VerifyReport {
  std::int64_t accounts = 0;
  std::int64_t entries = 0;
  std::int64_t reservations = 0;
  std::int64_t grants = 0;
  std::int64_t violations = 0;
  std::vector<std::string> examples;  // the first of them: "I1: account 7 (exports-month, tenant=acme, 2026-03): …"

  bool ok() const { return violations == 0; }
};
inline constexpr std::size_t kMaxViolationsShown = 100;

Result<VerifyReport> verify(database::Database& database);

}  // namespace weir::ledger
