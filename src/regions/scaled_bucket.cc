#include "regions/scaled_bucket.h"

#include <algorithm>

namespace weir::regions {
namespace {

__extension__ typedef __int128 WideCost;

// A cost that the share cannot hold now waits for a larger share.
constexpr Duration kWaitForShare = std::chrono::seconds(1);

std::int64_t bounded_cost(WideCost cost) { return static_cast<std::int64_t>(std::min<WideCost>(cost, kMaxUnits)); }

}  // namespace

ScaledBucket ScaledBucket::of(const Allowance& allowance, Ppm share) {
  ScaledBucket bucket;
  bucket.share = share;
  for (std::int64_t finer = 1'000; finer > 1; finer /= 10) {
    if (allowance.limit > kMaxUnits / finer || allowance.burst > kMaxUnits / finer) continue;
    AllowanceSpec spec;
    spec.algorithm = allowance.algorithm;
    spec.limit = allowance.limit * finer;
    spec.window = allowance.window;
    spec.burst = allowance.burst * finer;
    const Result<Allowance> made = make_allowance(spec);
    if (!made.ok()) continue;
    bucket.allowance = made.value();
    bucket.allowance.overdraft = bounded_cost(WideCost{allowance.overdraft} * finer);
    bucket.allowance.charges_lapsed = allowance.charges_lapsed;
    bucket.finer = finer;
    return bucket;
  }
  bucket.allowance = allowance;
  return bucket;
}

std::int64_t ScaledBucket::cost(std::int64_t units) const {
  return bounded_cost((WideCost{units} * finer * kWhole + share - 1) / share);
}

std::int64_t ScaledBucket::units(std::int64_t scaled) const {
  return static_cast<std::int64_t>(WideCost{scaled} * share / (WideCost{finer} * kWhole));
}

ChargeOutcome ScaledBucket::outcome(const ChargeOutcome& scaled, std::int64_t cost, const Allowance& rule) const {
  ChargeOutcome outcome = scaled;
  outcome.remaining = units(scaled.remaining);
  outcome.uncharged = units(scaled.uncharged);
  outcome.estimated = true;
  if (scaled.too_large && cost <= rule.largest_cost()) {
    outcome.too_large = false;
    outcome.retry_after = kWaitForShare;
  }
  return outcome;
}

std::int64_t growth_charge(const ScaledBucket& bucket, std::int64_t remaining, Ppm from) {
  const Allowance& allowance = bucket.allowance;
  const WideCost refill = (WideCost{allowance.rate_units} * kGrowthTime.count() + allowance.rate_ticks - 1) /
                          std::max<std::int64_t>(allowance.rate_ticks, 1);
  // One more, because `remaining` is rounded down.
  const WideCost level = std::min<WideCost>(WideCost{remaining} + 1 + refill, allowance.burst);
  return bounded_cost((level * (bucket.share - from) + bucket.share - 1) / bucket.share);
}

}  // namespace weir::regions
