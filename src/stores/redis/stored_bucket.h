// StoredBucket: what a key of Weir in Redis says, for people who look into a store. The formats are those of the
// scripts (scripts/*.lua). Pure functions; any bytes are safe to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/allowance.h"
#include "weir/hold.h"
#include "weir/time.h"

namespace weir::redis {

// The parts of `w1:[namespace:]{tag}:rule:hash`.
struct StoredName {
  std::string_view name_space;
  std::string_view tag;  // 16 hexadecimal digits
  std::string_view rule;
  std::string_view hash;  // 32 hexadecimal digits
};
// None: not the name of a bucket.
std::optional<StoredName> parse_bucket_name(std::string_view key);

// Units that were taken at a time, or in a window that begins then.
struct StoredUnits {
  TimePoint at;
  std::int64_t units = 0;
};

struct StoredLease {
  std::string id;  // 32 hexadecimal digits
  TimePoint expires;
  std::int64_t token = 0;
  std::int64_t units = 0;  // 0: it has ended, and its id is not taken again before `expires`
};

// Units of a reservation in a bucket.
struct StoredHold {
  std::string id;  // 32 hexadecimal digits
  std::int64_t units = 0;
  TimePoint reserved;
  TimePoint expires;
};

// The record of a reservation. What it was granted is StoredBucket::used.
struct StoredReservation {
  ReservationState state = ReservationState::open;
  TimePoint expires;
  std::int64_t actual = 0;
  std::int64_t returned = 0;
  std::int64_t debt = 0;
  std::int64_t uncharged = 0;
};

// The penalty of a subject (scripts/penalties.lua).
struct StoredPenalty {
  TimePoint until;           // when the last one ends, or has
  TimePoint first;           // when the first strike that counts came
  std::int64_t strikes = 0;  // towards the next one
  std::int64_t step = 0;     // how many there were that still count
};

struct StoredBucket {
  ChargeKind kind = ChargeKind::bucket;
  Algorithm algorithm = Algorithm::token_bucket;  // of a bucket
  // As of the last change: units in the window or log, or owed by a token bucket, rounded up.
  std::int64_t used = 0;
  std::int64_t used_before = 0;  // sliding-counter: in the window before that of the last change
  TimePoint last_change;         // leases: of the first of them
  TimePoint idle_from;           // full again from then on
  // sliding-log: every entry; bucketed-window: each sub-bucket that is not empty. In order of time.
  std::vector<StoredUnits> entries;
  Duration width{0};  // bucketed-window: of a sub-bucket
  std::vector<StoredLease> leases;
  std::vector<StoredHold> holds;  // open reservations of a bucket
  StoredReservation record;       // of a record
  StoredPenalty penalty;          // of a penalty
  bool distinct = false;          // it counts different values: `used` of them
};
inline bool keeps_entries(Algorithm algorithm) {
  return algorithm == Algorithm::sliding_log || algorithm == Algorithm::bucketed_window;
}
// None: not a whole bucket of a format that this version writes.
std::optional<StoredBucket> parse_stored_bucket(std::string_view value);

}  // namespace weir::redis
