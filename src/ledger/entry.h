// Entry: one movement of units between two buckets of an account. Entries are written once and never changed; a
// balance is the sum of its entries.
//
// Each entry takes from one bucket what it adds to another, so the books balance by construction: what was issued is
// available, held, used or expired.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir::ledger {

enum class Bucket : std::uint8_t {
  issue,      // where units come from, and where withdrawn ones go back to
  available,  // can be taken
  held,       // by reservations, and by slices that nodes spend
  used,       // billed
  expired,    // counts against the limit, and is not billed
};
std::string_view bucket_name(Bucket bucket);
std::optional<Bucket> parse_bucket(std::string_view name);

enum class EntryKind : std::uint8_t {
  allowance,       // issue → available: the limit, when the account is opened
  raise,           // issue → available: the limit was raised
  lower,           // available → issue: the limit was lowered, by what was not yet taken
  grant,           // issue → available: a top-up
  carry_out,       // available → issue: what is left of a grant moves to the next period
  carry_in,        // issue → available: and arrives there
  grant_expiry,    // available → expired: what is left of a grant
  grace,           // issue → available: units beyond the limit that the rule's grace allows
  overage,         // issue → available: units beyond limit and grace, recorded as such
  ungrace,         // available → issue: grace that was given back
  unoverage,       // available → issue: overage that was given back
  withdrawal,      // available → issue: given back beyond a limit that was lowered meanwhile
  take,            // available → used: a strict decision
  usage,           // available → used: reported after the fact
  refund,          // used → available: at most what was used
  charge,          // available → used: a correction by a person
  credit,          // used → available: likewise
  reversal,        // used → available: of an operation that is named
  slice,           // available → held: a node may spend it
  slice_return,    // held → available: it did not need it
  slice_use,       // held → used: it has spent it
  slice_expiry,    // held → expired: it has not said in time what it spent
  slice_late_use,  // expired → used: and said so later
  reserve,         // available → held
  extend,          // available → held: a reservation holds more
  commit,          // held → used: closes a reservation
  remainder,       // held → available: what a reservation did not need: committed, or granted less by another rule
  excess,          // available → used: what it needed beyond what it held
  release,         // held → available: closes a reservation
  lapse,           // held → available: its time passed, which closes it
};
std::string_view kind_name(EntryKind kind);
std::optional<EntryKind> parse_kind(std::string_view name);

// Between which buckets entries of a kind move units.
struct Movement {
  Bucket from;
  Bucket to;
};
Movement movement_of(EntryKind kind);

// Closes a reservation: at most one of these per reservation and account.
bool closes_reservation(EntryKind kind);

struct Entry {
  std::int64_t account = 0;  // its id
  std::int64_t version = 0;  // 1, 2, 3 … of the account
  std::string operation;     // its id; an operation reaches all its accounts or none
  std::int64_t reach = 1;    // how many accounts that are
  EntryKind kind = EntryKind::take;
  std::int64_t amount = 0;  // positive
  // A reservation, a grant, "node/epoch" of a slice, the operation that is reversed, the limit that was set, the period
  // that is corrected; or nothing.
  std::string about;
  std::string actor;  // of a person's change
  std::string reason;
  TimePoint effective;  // when it happened
  TimePoint recorded;
};

}  // namespace weir::ledger
