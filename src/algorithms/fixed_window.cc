#include "algorithms/fixed_window.h"

#include "algorithms/arithmetic.h"

namespace weir::algorithms {
namespace {

constexpr std::size_t kCount = 0;
constexpr std::size_t kLast = 2;

struct Window {
  Moment moment;
  std::int64_t end;
  std::int64_t used;
};

// Where the window that holds `time` begins.
inline std::int64_t start_of(const Allowance& allowance, std::int64_t time) {
  const std::int64_t window = allowance.window.count();
  const std::int64_t since_anchor = time + window - allowance.anchor.count();
  return time - since_anchor % window;
}

inline Window window_at(const Allowance& allowance, ConstHead head, TimePoint now) {
  const Moment moment(now, head[kLast]);
  const std::int64_t start = start_of(allowance, moment.time);
  const bool counts = clamp_tick(head[kLast]) >= start;
  // Not bounded by the limit: what was used under a higher one stays used if that one returns.
  const std::int64_t used = counts ? bounded(head[kCount], kMaxUnits) : 0;
  return {moment, start + allowance.window.count(), used};
}

void write(Head head, const Window& window, std::int64_t used) {
  head[kCount] = used;
  head[kLast] = window.moment.time;
}

}  // namespace

ChargeOutcome FixedWindow::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                    std::int64_t cost) {
  ChargeOutcome outcome;
  const Window window = window_at(allowance, bucket.head, now);
  std::int64_t used = window.used;
  if (cost > allowance.limit) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else if (used + cost <= allowance.limit) {
    used += cost;
  } else if (cost > 0) {
    outcome.admitted = false;
    outcome.retry_after = window.moment.until(window.end);
  }
  outcome.remaining = std::max<std::int64_t>(0, allowance.limit - used);
  if (used > 0) outcome.reset_after = window.moment.until(window.end);
  return outcome;
}

void FixedWindow::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  if (cost == 0) return;
  const Window window = window_at(allowance, bucket.head, now);
  write(bucket.head, window, std::max(window.used, std::min(window.used + cost, allowance.limit)));
}

void FixedWindow::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                std::int64_t cost) {
  charge(allowance, bucket, now, cost);
}

bool FixedWindow::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  const Window window = window_at(allowance, bucket.head, now);
  if (cost == 0 || window.used == 0) return false;
  write(bucket.head, window, std::max<std::int64_t>(0, window.used - cost));
  return true;
}

std::int64_t FixedWindow::counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                  TimePoint since) {
  const Window window = window_at(allowance, bucket.head, now);
  return micros(since) >= window.end - allowance.window.count() ? window.used : 0;
}

void FixedWindow::give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint,
                            std::int64_t units) {
  refund(allowance, bucket, now, units);
}

std::int64_t FixedWindow::charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                        std::int64_t units) {
  const Window window = window_at(allowance, bucket.head, now);
  const std::int64_t most = std::min(allowance.limit + allowance.overdraft, kMaxUnits);
  const std::int64_t charged = bounded(most - window.used, units);
  if (charged > 0) write(bucket.head, window, window.used + charged);
  return charged;
}

TimePoint FixedWindow::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  const std::int64_t last = clamp_tick(bucket.head[kLast]);
  if (bucket.head[kCount] <= 0) return from_micros(last);
  return from_micros(start_of(allowance, last) + allowance.window.count());
}

TimePoint FixedWindow::last_change(const ConstBucketWords& bucket) {
  return from_micros(clamp_tick(bucket.head[kLast]));
}

Duration FixedWindow::move_back(const BucketWords& bucket, Duration by) {
  bucket.head[kLast] = clamp_tick(bucket.head[kLast]) - by.count();
  return by;
}

}  // namespace weir::algorithms
