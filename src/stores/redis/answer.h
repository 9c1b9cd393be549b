// What a script answers for one charge, checked: a number that no script of ours can give is not passed on.
//
// A program that can write to Redis can leave anything in a bucket, and what a script makes of it may be anything too;
// so may the answer of something that only looks like Redis. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stores/redis/resp.h"
#include "weir/allowance.h"
#include "weir/hold_step.h"
#include "weir/store.h"

namespace weir::redis {

// Numbers for each charge: verdict, remaining, retry_after, reset_after, delay …
inline constexpr std::size_t kAnswer = 5;
// … and for a share of a decision that spans slots: remaining and reset_after without this charge, and its moment.
inline constexpr std::size_t kSharedAnswer = 8;
// No wait and no moment is longer: above it, Lua's numbers are not exact.
inline constexpr std::int64_t kMostMicros = std::int64_t{1} << 53;

// What else a script may answer. `newcomer`: it was told to charge only a bucket that exists, and there is none
// (Code::out_of_range). `crowded`: the bucket has as many reservations as it may.
struct MayAnswer {
  bool newcomer = false;
  bool crowded = false;
};
// Precondition: numbers.size() == kAnswer. False: `outcome` means nothing.
[[nodiscard]] bool read_outcome(Reply numbers, const Allowance& allowance, ChargeOutcome& outcome, MayAnswer may = {});

// What a draw answers after the numbers of its charge: units granted, how long they last, the bucket's time,
// whether there was a bucket.
inline constexpr std::size_t kDrawAnswer = 4;
// Precondition: numbers.size() == kDrawAnswer. False: `draw` means nothing.
[[nodiscard]] bool read_draw(Reply numbers, const Allowance& allowance, DrawStep& draw);

// What undoing needs of a charge: remaining and reset_after without it, and the moment at which it was made.
struct Standing {
  std::int64_t remaining = 0;
  std::int64_t reset_after_us = 0;
  std::int64_t charged_at_us = 0;
};
// Precondition: numbers.size() == kSharedAnswer - kAnswer. False: `standing` means nothing.
[[nodiscard]] bool read_standing(Reply numbers, const Allowance& allowance, Standing& standing);

// What the scripts for leases and reservations say of the hold, after the numbers of all charges. Those of a
// reservation go on with what is known of it.
inline constexpr std::size_t kHoldAnswer = 4;
inline constexpr std::size_t kReservationAnswer = 10;
struct HoldAnswer {
  HoldState state = HoldState::none;
  std::uint64_t token = 0;
  std::int64_t expires_us = 0;
  std::int64_t at_us = 0;  // the moment of the call by the server's clock
  // Of a reservation, as in HoldStep.
  ReservationState reserved = ReservationState::open;
  std::int64_t granted = 0;
  std::int64_t actual = 0;
  std::int64_t returned = 0;
  std::int64_t debt = 0;
  std::int64_t uncharged = 0;
};
// Precondition: numbers.size() is one of the two. False: `answer` means nothing.
[[nodiscard]] bool read_hold(Reply numbers, HoldAnswer& answer);

// One hold of a list: the index of its bucket among those of the script call, id, units, token (of a reservation: when
// it was reserved), expiry.
inline constexpr std::size_t kListedAnswer = 5;
// Precondition: items.size() == kListedAnswer. False: `listed` means nothing.
[[nodiscard]] bool read_listed(Reply items, std::size_t buckets, bool reserved, ListedHold& listed);

}  // namespace weir::redis
