#include "algorithms/sliding_counter.h"

#include "algorithms/arithmetic.h"

namespace weir::algorithms {
namespace {

constexpr std::size_t kCurrent = 0;
constexpr std::size_t kPrevious = 1;
constexpr std::size_t kLast = 2;

// Both counts as seen at one moment.
struct Counts {
  Moment moment;
  std::int64_t end;  // of the current window
  std::int64_t current;
  std::int64_t previous;
};

inline Counts counts_at(const Allowance& allowance, ConstHead head, TimePoint now) {
  const std::int64_t width = allowance.window.count();
  const Moment moment(now, head[kLast]);
  const std::int64_t last = clamp_tick(head[kLast]);
  const std::int64_t start = moment.time - moment.time % width;
  Counts counts{moment, start + width, 0, 0};
  if (last >= start) {
    counts.current = bounded(head[kCurrent], kMaxUnits);
    counts.previous = bounded(head[kPrevious], kMaxUnits);
  } else if (last >= start - width) {
    counts.previous = bounded(head[kCurrent], kMaxUnits);
  }
  return counts;
}

// Negative when more is counted than the limit allows. The weighted count is rounded up: costs are whole, so a cost
// fits exactly when it is at most this.
std::int64_t room(const Allowance& allowance, const Counts& counts) {
  const std::int64_t weighted = ceil_share(counts.previous, counts.end - counts.moment.time, allowance.window.count());
  return allowance.limit - counts.current - weighted;
}

// The first moment at which `cost` fits if nothing else is charged. Precondition: it is at most the limit and does not
// fit now.
std::int64_t fits_from(const Allowance& allowance, const Counts& counts, std::int64_t cost) {
  const std::int64_t width = allowance.window.count();
  const std::int64_t free_now = allowance.limit - counts.current - cost;
  // In this window the weight of the previous count falls; wait until it is at most what is free.
  if (free_now >= 0) return counts.end - floor_scale(free_now, width, counts.previous);
  // In the next window, the weight of this window's count falls in the same way.
  return counts.end + width - floor_scale(allowance.limit - cost, width, counts.current);
}

std::int64_t forgotten_from(const Counts& counts, std::int64_t width) {
  if (counts.current > 0) return counts.end + width;
  return counts.previous > 0 ? counts.end : counts.moment.time;
}

void write(Head head, const Counts& counts) {
  head[kCurrent] = counts.current;
  head[kPrevious] = counts.previous;
  head[kLast] = counts.moment.time;
}

}  // namespace

ChargeOutcome SlidingCounter::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                       std::int64_t cost) {
  ChargeOutcome outcome;
  Counts counts = counts_at(allowance, bucket.head, now);
  std::int64_t left = room(allowance, counts);
  if (cost > allowance.limit) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else if (cost <= left) {
    counts.current += cost;
    left -= cost;
  } else if (cost > 0) {
    outcome.admitted = false;
    outcome.retry_after = counts.moment.until(fits_from(allowance, counts, cost));
  }
  outcome.remaining = std::max<std::int64_t>(0, left);
  if (counts.current > 0 || counts.previous > 0) {
    outcome.reset_after = counts.moment.until(forgotten_from(counts, allowance.window.count()));
  }
  return outcome;
}

void SlidingCounter::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  if (cost == 0) return;
  Counts counts = counts_at(allowance, bucket.head, now);
  counts.current += bounded(room(allowance, counts), cost);
  write(bucket.head, counts);
}

void SlidingCounter::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                   std::int64_t cost) {
  charge(allowance, bucket, now, cost);
}

bool SlidingCounter::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  Counts counts = counts_at(allowance, bucket.head, now);
  if (cost == 0 || (counts.current == 0 && counts.previous == 0)) return false;
  const std::int64_t from_current = std::min(cost, counts.current);
  counts.current -= from_current;
  counts.previous -= std::min(cost - from_current, counts.previous);
  write(bucket.head, counts);
  return true;
}

std::int64_t SlidingCounter::counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                     TimePoint since) {
  const Counts counts = counts_at(allowance, bucket.head, now);
  const std::int64_t start = counts.end - allowance.window.count();
  if (micros(since) >= start) return counts.current;
  return micros(since) >= start - allowance.window.count() ? counts.previous : 0;
}

void SlidingCounter::give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint since,
                               std::int64_t units) {
  Counts counts = counts_at(allowance, bucket.head, now);
  std::int64_t& count = micros(since) >= counts.end - allowance.window.count() ? counts.current : counts.previous;
  count = std::max<std::int64_t>(0, count - units);
  write(bucket.head, counts);
}

std::int64_t SlidingCounter::charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                           std::int64_t units) {
  Counts counts = counts_at(allowance, bucket.head, now);
  const std::int64_t most = std::min(room(allowance, counts) + allowance.overdraft, kMaxUnits - counts.current);
  const std::int64_t charged = bounded(most, units);
  counts.current += charged;
  if (charged > 0) write(bucket.head, counts);
  return charged;
}

TimePoint SlidingCounter::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  const Counts counts = counts_at(allowance, bucket.head, from_micros(clamp_tick(bucket.head[kLast])));
  return from_micros(forgotten_from(counts, allowance.window.count()));
}

TimePoint SlidingCounter::last_change(const ConstBucketWords& bucket) {
  return from_micros(clamp_tick(bucket.head[kLast]));
}

// How much of its window was over at the last change is not known, nor how much of the new one is. So the count of the
// previous window, which might vanish at once, is taken to be of the current one.
Duration SlidingCounter::move_back(const BucketWords& bucket, Duration by) {
  bucket.head[kCurrent] = bounded(bucket.head[kCurrent], kMaxUnits) + bounded(bucket.head[kPrevious], kMaxUnits);
  bucket.head[kPrevious] = 0;
  bucket.head[kLast] = clamp_tick(bucket.head[kLast]) - by.count();
  return by;
}

}  // namespace weir::algorithms
