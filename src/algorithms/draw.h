// Draws: units taken from a bucket in advance, and units charged after they were admitted (weir/draw_step.h).
//
// Pure, like all of this room. The Lua of stores/redis/scripts/one.lua does the same.
#pragma once

#include <cstdint>

#include "algorithms/bucket.h"
#include "weir/draw_step.h"

namespace weir::algorithms {

// A bucket that refills: a slice of it is good for a time, and must be paid for by a floor (DrawStep::floor).
constexpr bool refills(Algorithm algorithm) {
  return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra;
}
// More than the cost can be drawn: the algorithm can say until when units that were counted now may be used. Those of
// the others are granted the cost, to be used at once.
constexpr bool can_be_drawn(Algorithm algorithm) {
  return algorithm != Algorithm::sliding_log && algorithm != Algorithm::leaky_bucket;
}
// DrawStep::late is charged; others ignore it.
constexpr bool takes_late(Algorithm algorithm) { return refills(algorithm) || algorithm == Algorithm::fixed_window; }

// The moment `now` by the bucket's own time.
TimePoint bucket_time(const Allowance& allowance, ConstBucketWords bucket, TimePoint now);

// From a moment by a bucket's time to the end of its window. Precondition: the algorithm counts in windows.
Duration until_window_ends(const Allowance& allowance, TimePoint time);

// False: there is nothing of step.late to charge, or its window has passed.
bool late_counts(const Allowance& allowance, ConstBucketWords bucket, TimePoint now, const DrawStep& step);
// False: it owes as much as it can already, and nothing has changed. Precondition: late_counts().
bool charge_late(const Allowance& allowance, BucketWords bucket, TimePoint now, const DrawStep& step);

// True: the cost can never be drawn, because with the floor it is more than the bucket holds.
constexpr bool exceeds_floor(const Allowance& allowance, std::int64_t cost, const DrawStep& step) {
  return refills(allowance.algorithm) && cost > 0 && cost + step.floor > allowance.burst;
}

// Takes what is granted, tells it in step.granted and step.lasts, and returns what the bucket answers.
// Precondition: evaluate() admitted this cost, it is not 0 and does not exceed the floor; the tail is long enough.
ChargeOutcome draw(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t cost, DrawStep& step);

}  // namespace weir::algorithms
