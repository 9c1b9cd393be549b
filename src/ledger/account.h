// Account: the balance of one quota rule for one subject in one period; and what else the ledger keeps: grants, slices,
// reservations. Values: the rows of the tables, without SQL.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "ledger/entry.h"
#include "weir/allowance.h"
#include "weir/time.h"

namespace weir::ledger {

// Beyond this, what an account was ever issued would no longer add up safely.
inline constexpr std::int64_t kMaxIssued = std::int64_t{1} << 62;
// After its end a period still takes what belongs to it; then it is closed, and corrections go to the open one.
inline constexpr Duration kClosesAfter = std::chrono::hours(24);
inline constexpr std::size_t kMaxThresholds = 16;
inline constexpr std::size_t kMaxKeyBytes = 1024;  // of a subject; the rest is shorter

struct AccountKey {
  std::string rule;
  std::string subject;
  std::string period;  // period_label()

  friend auto operator<=>(const AccountKey&, const AccountKey&) = default;
};

// What a rule says about a subject in a period. The account is opened on these terms when it is first needed, and
// follows them when a later rule says otherwise.
struct Terms {
  AccountKey key;
  std::string tenant;
  TimePoint begins;
  TimePoint ends;
  std::int64_t limit = 0;
  // When this limit was decided: it replaces what was decided earlier. So a node that has not seen the new rules yet
  // does not undo them.
  TimePoint since;
  std::int64_t grace = 0;                // units
  bool record_overage = false;           // beyond limit and grace: admitted, and recorded as overage
  std::vector<std::int64_t> thresholds;  // units, ascending; at most kMaxThresholds

  friend bool operator==(const Terms&, const Terms&) = default;
};

struct Account {
  std::int64_t id = 0;
  AccountKey key;
  std::string tenant;
  TimePoint begins;
  TimePoint ends;
  std::int64_t limit = 0;
  TimePoint limit_since;
  std::int64_t grace = 0;
  bool record_overage = false;
  std::vector<std::int64_t> thresholds;

  // issued = available + held + used + expired; none is ever negative.
  std::int64_t issued = 0;
  std::int64_t available = 0;
  std::int64_t held = 0;
  std::int64_t used = 0;
  std::int64_t expired = 0;
  // Parts of `issued`; the rest is the allowance.
  std::int64_t granted = 0;
  std::int64_t grace_used = 0;
  std::int64_t overage = 0;
  // The part of `available` that is left of grants. The allowance is used first.
  std::int64_t granted_left = 0;
  std::int64_t version = 0;  // of the last entry

  std::int64_t allowance() const { return issued - granted - grace_used - overage; }
  // What is left of the rule's grace; it may have been lowered below what was used of it.
  std::int64_t grace_left() const { return grace > grace_used ? grace - grace_used : 0; }
  // Taken from the account and not given back, billed or not.
  std::int64_t taken() const { return held + used + expired; }
  bool closed(TimePoint now) const { return now >= ends + kClosesAfter; }
  // Moves units between buckets, as an entry of this kind does, and counts it. Precondition: they are there.
  void move(EntryKind kind, std::int64_t amount);

  friend bool operator==(const Account&, const Account&) = default;
};

// A top-up: used after the allowance, by priority, then expiry, then age, and carried into the next period until it
// expires.
struct Grant {
  std::string id;
  std::string rule;
  std::string subject;
  std::int64_t account = 0;  // where what is left of it is available
  std::int64_t amount = 0;
  std::int64_t arrived = 0;  // in that account: what was left when the period began
  std::int64_t left = 0;
  std::int64_t priority = 0;  // lower ones are used first
  TimePoint expires;
  TimePoint created;
  std::string actor;
  std::string reason;

  bool live(TimePoint now) const { return now < expires; }
  friend bool operator==(const Grant&, const Grant&) = default;
};

// What a node holds of an account, in one epoch: all that it took, and what became of it.
struct Slice {
  std::int64_t account = 0;
  std::string node;
  std::int64_t epoch = 0;
  std::int64_t held = 0;     // may be spent, or was and is not reported yet
  std::int64_t expired = 0;  // was not reported in time, and may still be
  TimePoint expires;

  friend bool operator==(const Slice&, const Slice&) = default;
};

enum class ReservationState : std::uint8_t { open, committed, released, lapsed };
std::string_view state_name(ReservationState state);
std::optional<ReservationState> parse_state(std::string_view name);

struct ReservationLeg {
  std::int64_t account = 0;
  std::int64_t held = 0;  // 0 once it is closed
  bool fixed = false;     // costs what it holds, whatever the reservation's amount and actual are

  friend bool operator==(const ReservationLeg&, const ReservationLeg&) = default;
};

struct Reservation {
  std::string id;
  ReservationState state = ReservationState::open;
  bool commit_on_expiry = false;  // its time passed: as if it had been committed with what it holds
  std::int64_t granted = 0;       // units in each leg that is not fixed
  std::int64_t actual = 0;        // committed: as told; while it is open, 1 if `granted` is the amount of its id
  TimePoint created;
  TimePoint expires;
  std::vector<ReservationLeg> legs;

  bool as_asked() const { return state == ReservationState::open && actual == 1; }

  friend bool operator==(const Reservation&, const Reservation&) = default;
};

struct Node {
  std::string name;
  std::int64_t epoch = 0;
  TimePoint seen;

  friend bool operator==(const Node&, const Node&) = default;
};

// Someone is to be told that an account has reached a threshold. Once per period and threshold.
struct Notice {
  std::int64_t account = 0;
  std::int64_t threshold = 0;
  std::int64_t used = 0;
  TimePoint reached;
};

}  // namespace weir::ledger
