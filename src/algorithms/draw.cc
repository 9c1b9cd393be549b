#include "algorithms/draw.h"

#include <algorithm>
#include <cassert>

#include "algorithms/arithmetic.h"
#include "algorithms/debt.h"

namespace weir::algorithms {
namespace {

// The windows, or sub-windows, in which an algorithm counts.
struct Windows {
  std::int64_t width;
  std::int64_t anchor;

  explicit Windows(const Allowance& allowance)
      : width(allowance.algorithm == Algorithm::bucketed_window ? allowance.window.count() / allowance.buckets
                                                                : allowance.window.count()),
        anchor(allowance.algorithm == Algorithm::fixed_window ? allowance.anchor.count() : 0) {}

  // Where the one that holds `time` begins.
  std::int64_t start_of(std::int64_t time) const { return time - (time + width - anchor) % width; }
};

}  // namespace

TimePoint bucket_time(const Allowance& allowance, ConstBucketWords bucket, TimePoint now) {
  return std::max(from_micros(clamp_tick(micros(now))), last_change(allowance.algorithm, bucket));
}

Duration until_window_ends(const Allowance& allowance, TimePoint time) {
  const Windows windows(allowance);
  return Duration{windows.start_of(micros(time)) + windows.width - micros(time)};
}

bool late_counts(const Allowance& allowance, ConstBucketWords bucket, TimePoint now, const DrawStep& step) {
  if (step.late <= 0 || !takes_late(allowance.algorithm)) return false;
  if (refills(allowance.algorithm)) return true;
  const std::int64_t time = micros(bucket_time(allowance, bucket, now));
  return micros(step.late_at) >= Windows(allowance).start_of(time);
}

bool charge_late(const Allowance& allowance, BucketWords bucket, TimePoint now, const DrawStep& step) {
  Allowance unbounded = allowance;
  unbounded.overdraft = kMaxUnits;
  return charge_beyond(unbounded, bucket, now, step.late) > 0;
}

ChargeOutcome draw(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t cost, DrawStep& step) {
  assert(cost > 0 && step.parts > 0 && !exceeds_floor(allowance, cost, step));
  std::int64_t units = cost;
  if (can_be_drawn(allowance.algorithm)) {
    if (refills(allowance.algorithm)) {
      Debt debt(allowance, bucket.head, now);
      debt.raise_to(step.floor);
      debt.write(allowance, bucket.head);
    } else {
      step.lasts = until_window_ends(allowance, bucket_time(allowance, bucket, now));
    }
    const std::int64_t left = evaluate(allowance, bucket, now, 0).remaining;
    units = std::min(std::max(step.want, cost), std::max(cost, left / step.parts));
  }
  const ChargeOutcome outcome = evaluate(allowance, bucket, now, units);
  assert(outcome.admitted);
  charge(allowance, bucket, now, units);
  step.granted = units;
  return outcome;
}

}  // namespace weir::algorithms
