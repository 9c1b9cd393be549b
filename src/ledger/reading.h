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
Result<std::optional<Account>> read_account(database::Session& session, std::int64_t id);

// The entries of an account with versions below `below`, the newest first.
Result<std::vector<Entry>> read_entries(database::Session& session, std::int64_t account, std::int64_t below,
                                        std::size_t most);

// How fast accounts are used at present: the units used, net, in the latest part of the period. It is judged by at most
// the last few hundred entries.
struct Pace {
  std::int64_t units = 0;
  Duration time{0};
};
Result<std::vector<Pace>> read_paces(database::Session& session, const std::vector<Account>& accounts, TimePoint now);
// When what is available will be used up at this pace; nothing: not in ten years.
std::optional<TimePoint> forecast(const Account& account, const Pace& pace, TimePoint now);

// What was used by the beginning of each step of the period, up to now.
struct UsedSeries {
  TimePoint start{};
  Duration step{0};
  std::vector<std::int64_t> used;
};
Result<UsedSeries> read_series(database::Session& session, const Account& account, TimePoint now);

// What to list; empty fields match everything.
struct AccountFilter {
  std::string tenant;
  std::string rule;
  std::string subject;
  std::string period;
  std::int64_t after = 0;  // the id of the last one of the page before
  std::size_t most = 100;  // at most kMaxListed, and one to see whether there are more
};
inline constexpr std::size_t kMaxListed = 1000;
// By id, which is in the order in which they were opened.
Result<std::vector<Account>> list_accounts(database::Session& session, const AccountFilter& filter);

Result<std::vector<Grant>> read_grants(database::Session& session, const std::string& rule, const std::string& subject);
// The open ones that hold units of an account, the oldest first, at most `most` (kMaxListed). `held` is of this
// account.
struct OpenReservation {
  std::string id;
  std::int64_t held = 0;
  TimePoint created{};
  TimePoint expires{};
};
Result<std::vector<OpenReservation>> open_reservations(database::Session& session, std::int64_t account,
                                                       std::size_t most);
Result<std::optional<Reservation>> read_reservation(database::Session& session, const std::string& id);
// The entries of the operation that closed it; none while it is open, and once they are removed.
Result<std::vector<Entry>> read_closing(database::Session& session, const std::string& reservation);

// What nodes hold: slices with units that are held or have expired unreported, by node.
struct HeldByNode {
  Slice slice;
  AccountKey account;
};
Result<std::vector<HeldByNode>> list_slices(database::Session& session, std::size_t most);
// Of one node, all of them.
Result<std::vector<HeldByNode>> list_slices(database::Session& session, const std::string& node);

// Thresholds that were reached and that no one has been told of yet, the oldest first; without those that another node
// than this one has claimed.
struct PendingNotice {
  Notice notice;
  Account account;
};
Result<std::vector<PendingNotice>> pending_notices(database::Session& session, const std::string& node, TimePoint now,
                                                   std::size_t most = 100);
// Until then only this node tells of it. In a transaction that writes, as the next. False: another node does, or did.
Result<bool> claim_notice(database::Session& session, const Notice& notice, const std::string& node, TimePoint now,
                          TimePoint until);
// False: it had been marked before.
Result<bool> mark_delivered(database::Session& session, const Notice& notice, TimePoint now);

}  // namespace weir::ledger
