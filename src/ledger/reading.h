// Reading the ledger: accounts, grants, reservations, and notices of thresholds. Each function is one question inside a
// transaction that reads; give it to Database::submit() or run().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "database/session.h"
#include "ledger/account.h"

namespace weir::ledger {

Result<std::optional<Account>> read_account(database::Session& session, const AccountKey& key);

// What to list; empty fields match everything.
struct AccountFilter {
  std::string tenant;
  std::string rule;
  std::string subject;
  std::string period;
  std::int64_t after = 0;  // the id of the last one of the page before
  std::size_t most = 100;  // at most kMaxListed
};
inline constexpr std::size_t kMaxListed = 1000;
// By id, which is in the order in which they were opened.
Result<std::vector<Account>> list_accounts(database::Session& session, const AccountFilter& filter);

Result<std::vector<Grant>> read_grants(database::Session& session, const std::string& rule, const std::string& subject);
Result<std::optional<Reservation>> read_reservation(database::Session& session, const std::string& id);

// What nodes hold: slices with units that are held or have expired unreported, by node.
struct HeldByNode {
  Slice slice;
  AccountKey account;
};
Result<std::vector<HeldByNode>> list_slices(database::Session& session, std::size_t most);

// Thresholds that were reached and that no one has been told of yet, the oldest first.
struct PendingNotice {
  Notice notice;
  Account account;
};
Result<std::vector<PendingNotice>> pending_notices(database::Session& session, std::size_t most = 100);
// In a transaction that writes. False: it had been marked before, by another node perhaps.
Result<bool> mark_delivered(database::Session& session, const Notice& notice, TimePoint now);

}  // namespace weir::ledger
