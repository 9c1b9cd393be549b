#include "engine/stages/open_work.h"

#include <algorithm>

namespace weir::engine {

void OpenWork::opened(const BucketKey& id, TimePoint expires) {
  const Id key{id.high, id.low};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = expiries_.find(key);
  if (known != expiries_.end()) {
    order_.erase({known->second, key});
    known->second = micros(expires);
  } else if (expiries_.size() < kMost) {
    expiries_.emplace(key, micros(expires));
  } else {
    return;
  }
  order_.emplace(std::pair(micros(expires), key), 0);
  publish();
}

void OpenWork::closed(const BucketKey& id) {
  const Id key{id.high, id.low};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = expiries_.find(key);
  if (known == expiries_.end()) return;
  order_.erase({known->second, key});
  expiries_.erase(known);
  publish();
}

void OpenWork::publish() {
  count_.store(static_cast<std::int64_t>(expiries_.size()), std::memory_order_relaxed);
  const std::int64_t next = order_.empty() ? std::numeric_limits<std::int64_t>::max() : order_.begin()->first.first;
  next_us_.store(next, std::memory_order_relaxed);
}

void OpenWork::drop_lapsed(std::int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!order_.empty() && order_.begin()->first.first <= now_us) {
    expiries_.erase(order_.begin()->first.second);
    order_.erase(order_.begin());
  }
  publish();
}

std::int64_t OpenWork::average(std::int64_t now_us) const {
  const std::int64_t passed = std::max<std::int64_t>(0, now_us - averaged_us_.load(std::memory_order_relaxed));
  if (passed >= 8 * kAveraged.count()) return 0;
  std::int64_t work = work_us_.load(std::memory_order_relaxed);
  // In steps of a tenth: what is left after `passed` of an average over kAveraged.
  const std::int64_t step = kAveraged.count() / 10;
  for (std::int64_t each = 0; each < passed / step; ++each) work -= work / 10;
  return work;
}

// Callers on several threads may lose each other's share of a step: it is an average.
void OpenWork::reported(Duration duration, TimePoint now) {
  const std::int64_t now_us = micros(now);
  const std::int64_t step = kAveraged.count() / 10;
  if (now_us - averaged_us_.load(std::memory_order_relaxed) >= step) {
    work_us_.store(average(now_us), std::memory_order_relaxed);
    averaged_us_.store(now_us, std::memory_order_relaxed);
  }
  work_us_.fetch_add(std::clamp(duration, Duration::zero(), kLongestReport).count(), std::memory_order_relaxed);
}

std::int64_t OpenWork::open(TimePoint now) {
  const std::int64_t now_us = micros(now);
  if (now_us >= next_us_.load(std::memory_order_relaxed)) drop_lapsed(now_us);
  // Of ten steps that are kept, the last is half over on average.
  return count_.load(std::memory_order_relaxed) +
         (average(now_us) * 20 / 19 + kAveraged.count() / 2) / kAveraged.count();
}

}  // namespace weir::engine
