// Penalty: repeated denials or reported failures refuse a subject for a time that grows with each repetition.
//
// A strike is a denial by the rule's own bucket that a wait could help, or a reported failure. `after` strikes within
// `within` of the first begin a penalty of `block`; each further one lasts `factor` times as long as the one before, up
// to `max`. Every `decay` that passes without a strike and without a penalty takes back one step. Refusals by a penalty
// are no strikes, and do not make it longer. All times are whole seconds, and `decay` is at least `within`.
//
// The first `challenges` steps ask for a challenge instead of a refusal (ChargeOutcome::challenge). A reported
// success ends such a step, and forgets the strikes since the last one; it does not end a refusal, nor takes steps
// back.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "weir/time.h"

namespace weir {

inline constexpr int kMaxPenaltyStrikes = 1'000;
inline constexpr int kMaxPenaltyFactor = 100;
inline constexpr int kMaxPenaltySteps = 60;  // steps that are counted; by then the longest applies
inline constexpr Duration kMinPenalty = std::chrono::seconds(1);
inline constexpr Duration kMaxPenalty = std::chrono::hours(24 * 30);

struct Penalty {
  int after = 0;
  Duration within{0};
  Duration block{0};
  int factor = 2;
  Duration max{0};  // 0: 16 times `block`
  bool on_denied = true;
  bool on_reported = true;
  Duration decay = std::chrono::hours(24);
  int challenges = 0;

  bool operator==(const Penalty&) const = default;
};

// No penalty lasts longer.
constexpr Duration longest_penalty(const Penalty& penalty) {
  return std::min(penalty.max == Duration::zero() ? 16 * penalty.block : penalty.max, kMaxPenalty);
}

}  // namespace weir
