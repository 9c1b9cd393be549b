// ScaledBucket: a share of a bucket that refills, as an ordinary bucket with other costs.
//
// A region's bucket always has the rule's whole rate and burst, and what a request costs there is its cost divided by
// the share: with half of the limit everything costs twice. So its level is the part of the share's burst that is left,
// and nothing in the store depends on the share:
//
//   - a cut keeps that part: the level falls with the share, at once, and is never below empty;
//   - a share that grows from s to t would make what is left worth t/s times as much. So before the larger share is
//   used
//     the bucket is charged what is too much, and the share has arrived empty: growth_charge().
//
// Numbers are multiplied by `finer` so that rounding costs up does no harm. Pure.
#pragma once

#include <cstdint>

#include "regions/shares.h"
#include "weir/allowance.h"
#include "weir/store.h"

namespace weir::regions {

struct ScaledBucket {
  Allowance allowance;  // the rule's, in finer units
  std::int64_t finer = 1;
  Ppm share = kWhole;

  // Of a token-bucket or gcra. Precondition: share > 0.
  static ScaledBucket of(const Allowance& allowance, Ppm share);

  // Rounded up, and bounded by kMaxUnits.
  std::int64_t cost(std::int64_t units) const;
  // Rounded down.
  std::int64_t units(std::int64_t scaled) const;

  // An answer of the scaled bucket in the units of the rule's. `rule` is the rule's own allowance.
  ChargeOutcome outcome(const ChargeOutcome& scaled, std::int64_t cost, const Allowance& rule) const;
};

// Its key: apart from the bucket that the rule has without a region, whose units are others.
constexpr BucketKey scaled_key(const BucketKey& key) { return {key.high ^ 0x7265'6769'6f6e'7331, key.low}; }

// The longest time between looking at a bucket whose share grows and charging it.
inline constexpr Duration kGrowthTime = std::chrono::milliseconds(100);

// What a bucket that was seen to have `remaining` must be charged when its share grows: what that is worth more, with
// what refills within kGrowthTime. In units of `bucket`, which has the larger share.
std::int64_t growth_charge(const ScaledBucket& bucket, std::int64_t remaining, Ppm from);

}  // namespace weir::regions
