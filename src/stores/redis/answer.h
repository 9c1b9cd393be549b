// What a script answers for one charge, checked: a number that no script of ours can give is not passed on.
//
// A program that can write to Redis can leave anything in a bucket, and what a script makes of it may be anything too; so may
// the answer of something that only looks like Redis. Pure functions.
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

// Precondition: numbers.size() == kAnswer. False: `outcome` means nothing. `only_existing`: the script was told to charge
// only a bucket that exists, and may answer that there is none (Code::out_of_range).
[[nodiscard]] bool read_outcome(Reply numbers, const Allowance& allowance, ChargeOutcome& outcome,
                                bool only_existing = false);

// What undoing needs of a charge: remaining and reset_after without it, and the moment at which it was made.
struct Standing {
  std::int64_t remaining = 0;
  std::int64_t reset_after_us = 0;
  std::int64_t charged_at_us = 0;
};
// Precondition: numbers.size() == kSharedAnswer - kAnswer. False: `standing` means nothing.
[[nodiscard]] bool read_standing(Reply numbers, const Allowance& allowance, Standing& standing);

// What the script for leases says of the lease, after the numbers of all charges.
inline constexpr std::size_t kHoldAnswer = 4;
struct HoldAnswer {
  HoldState state = HoldState::none;
  std::uint64_t token = 0;
  std::int64_t expires_us = 0;
  std::int64_t at_us = 0;  // the moment of the call by the server's clock
};
// Precondition: numbers.size() == kHoldAnswer. False: `answer` means nothing.
[[nodiscard]] bool read_hold(Reply numbers, HoldAnswer& answer);

// One lease of a list: the index of its bucket among those of the script call, id, units, token, expiry.
inline constexpr std::size_t kListedAnswer = 5;
// Precondition: items.size() == kListedAnswer. False: `listed` means nothing.
[[nodiscard]] bool read_listed(Reply items, std::size_t buckets, ListedHold& listed);

}  // namespace weir::redis
