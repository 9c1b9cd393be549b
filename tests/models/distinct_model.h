// DistinctModel: different values of one subject, each with the time at which it expires, with nothing of the code
// under test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "tests/models/model.h"
#include "weir/allowance.h"

namespace weir::models {

class DistinctModel {
 public:
  explicit DistinctModel(const Allowance& allowance) : allowance_(allowance) {}

  Answer peek(TimePoint now, std::uint64_t value, std::int64_t cost) const {
    std::map<std::uint64_t, TimePoint> live = live_at(now);
    Answer answer;
    answer.admitted = true;
    if (cost > 0 && allowance_.limit == 0) {
      answer.admitted = false;
      answer.too_large = true;
    } else if (cost > 0 && !live.contains(value) && static_cast<std::int64_t>(live.size()) >= allowance_.limit) {
      answer.admitted = false;
      answer.retry_after = room_at(live) - now;
    } else if (cost > 0) {
      see(live, now, value);
    }
    answer.remaining = std::max<std::int64_t>(0, allowance_.limit - static_cast<std::int64_t>(live.size()));
    for (const auto& [each, expiry] : live) answer.reset_after = std::max(answer.reset_after, expiry - now);
    return answer;
  }

  void admit(TimePoint now, std::uint64_t value) {
    values_ = live_at(now);
    see(values_, now, value);
  }
  void forget() { values_.clear(); }

 private:
  std::map<std::uint64_t, TimePoint> live_at(TimePoint now) const {
    std::map<std::uint64_t, TimePoint> live;
    for (const auto& [each, expiry] : values_) {
      if (expiry > now) live.emplace(each, expiry);
    }
    return live;
  }

  void see(std::map<std::uint64_t, TimePoint>& values, TimePoint now, std::uint64_t value) const {
    const std::int64_t window = allowance_.window.count();
    const TimePoint end = allowance_.algorithm == Algorithm::sliding_log
                              ? now + allowance_.window
                              : from_micros(micros(now) / window * window + window);
    TimePoint& expiry = values.try_emplace(value, end).first->second;
    expiry = std::max(expiry, end);
  }

  // When as many have expired as must for one more to fit.
  TimePoint room_at(const std::map<std::uint64_t, TimePoint>& live) const {
    std::vector<TimePoint> expiries;
    for (const auto& [each, expiry] : live) expiries.push_back(expiry);
    std::sort(expiries.begin(), expiries.end());
    return expiries[expiries.size() - static_cast<std::size_t>(allowance_.limit)];
  }

  const Allowance allowance_;
  std::map<std::uint64_t, TimePoint> values_;
};

}  // namespace weir::models
