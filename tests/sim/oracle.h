// Oracle: judges what was admitted of one bucket. An exact bucket, to which every admission is put in the order of its
// time: what it would not have admitted is too much. For a token bucket that is the same as more than B + r·T in some
// interval of length T; for windows, as more than L in one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/arithmetic.h"
#include "algorithms/bucket.h"

namespace weir::sim {

class Oracle {
 public:
  explicit Oracle(const Allowance& allowance) : allowance_(allowance) {}

  void admitted(TimePoint time, std::int64_t units) { events_.push_back({time, units, 0}); }
  // From now on so many more may be admitted than the bucket says: the store has lost its data, or something was
  // refunded.
  void forgive(TimePoint time, std::int64_t units) { events_.push_back({time, 0, units}); }

  // Units beyond what the bucket admits.
  std::int64_t over() {
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    std::int64_t head[algorithms::kHeadWords] = {};
    std::vector<std::int64_t> tail(static_cast<std::size_t>(allowance_.buckets), 0);
    const algorithms::BucketWords words{algorithms::Head(head), tail};
    std::int64_t forgiven = 0;
    std::int64_t over = 0;
    for (const Event& event : events_) {
      forgiven += event.forgiven;
      if (event.units == 0) continue;
      if (algorithms::evaluate(allowance_, words, event.time, event.units).admitted) {
        algorithms::charge(allowance_, words, event.time, event.units);
        continue;
      }
      const std::int64_t room = algorithms::evaluate(allowance_, words, event.time, 0).remaining;
      if (room > 0) algorithms::charge(allowance_, words, event.time, room);
      const std::int64_t excused = std::min(forgiven, event.units - room);
      forgiven -= excused;
      over += event.units - room - excused;
    }
    return over;
  }
  // The most that was ever admitted beyond what the bucket would have had, if it could owe. `tolerance` of it is not
  // counted.
  std::int64_t over_at_once(std::int64_t tolerance) {
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    const bool window = allowance_.algorithm == Algorithm::fixed_window;
    const algorithms::Wide scale = window ? 1 : allowance_.rate_ticks;
    algorithms::Wide owed = 0;
    TimePoint last{};
    std::int64_t forgiven = 0;
    std::int64_t worst = 0;
    for (const Event& event : events_) {
      forgiven += event.forgiven;
      if (event.units == 0) continue;
      if (!window) {
        owed -= algorithms::Wide{allowance_.rate_units} * (event.time - last).count();
        if (owed < 0) owed = 0;
      } else if (micros(event.time) / allowance_.window.count() != micros(last) / allowance_.window.count()) {
        owed = 0;
      }
      last = event.time;
      owed += event.units * scale;
      const auto beyond = static_cast<std::int64_t>((owed + scale - 1) / scale) - allowance_.largest_cost();
      worst = std::max(worst, beyond - tolerance - forgiven);
    }
    return worst;
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const Event& event : events_) sum += event.units;
    return sum;
  }

 private:
  struct Event {
    TimePoint time;
    std::int64_t units;
    std::int64_t forgiven;
  };
  const Allowance allowance_;
  std::vector<Event> events_;
};

}  // namespace weir::sim
