// The penalty of one subject (weir/penalty.h) as pure arithmetic on three words: no I/O, clock or locks. All words zero
// is a subject without strikes.
//
//   0  until: when the last penalty ends, in microseconds; 0: there was none
//   1  first: when the first of the strikes that count came; 0: there are none
//   2  strikes * 256 + step
//
// The step, which says how long the next penalty lasts, goes down by one for each `decay` since the last penalty ended
// or the first strike came, whichever is later. `decay` is at least `within`, so a step that was taken back is never
// taken back twice: the next strike is the first of others.
//
// Any words are safe: a damaged state gives a bounded answer.
#pragma once

#include <cstdint>

#include "algorithms/bucket.h"
#include "weir/penalty.h"

namespace weir::algorithms {

// What the subject gets at the moment.
struct PenaltyStanding {
  bool penalized = false;
  bool challenge = false;  // and in one of the first steps
  Duration wait{0};        // until it is over
};
PenaltyStanding penalty_standing(const Penalty& penalty, ConstHead words, std::int64_t now_us);

// One strike. Precondition: not penalized.
void penalty_strike(const Penalty& penalty, Head words, std::int64_t now_us);

// A reported success: strikes are forgotten, and a challenge is over.
void penalty_success(const Penalty& penalty, Head words, std::int64_t now_us);

// From this moment on the words equal fresh ones and may be forgotten.
std::int64_t penalty_idle_from(const Penalty& penalty, ConstHead words);

// How long a penalty of this step lasts, 1 to kMaxPenaltySteps.
Duration penalty_length(const Penalty& penalty, std::int64_t step);

// Makes it one of `by_us` earlier.
void penalty_move_back(Head words, std::int64_t by_us);

}  // namespace weir::algorithms
