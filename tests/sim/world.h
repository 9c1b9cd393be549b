// World: the time and the chance of a simulation. Everything in it happens on one thread, in the order of its time, and
// is the same for the same seed.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "weir/time.h"

namespace weir::sim {

class World {
 public:
  static constexpr TimePoint kStart{Duration{1'800'000'000'000'000}};

  explicit World(std::uint64_t seed) : random_(seed) {}

  TimePoint now() const { return now_; }
  void at(TimePoint time, std::function<void()> what) {
    events_.push({std::max(time, now_), ++events_made_, std::move(what)});
  }
  void after(Duration time, std::function<void()> what) { at(now_ + time, std::move(what)); }
  void run_until(TimePoint end) {
    while (!events_.empty() && events_.top().time <= end) {
      std::function<void()> what = events_.top().what;
      now_ = events_.top().time;
      events_.pop();
      what();
    }
    now_ = end;
  }

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  // Both included.
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  bool chance(std::int64_t in_a_thousand) { return below(1'000) < in_a_thousand; }
  Duration between(Duration least, Duration most) { return Duration{between(least.count(), most.count())}; }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<std::int64_t>(values.size())));
  }

 private:
  struct Event {
    TimePoint time;
    std::uint64_t order;
    std::function<void()> what;
    friend bool operator<(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };

  TimePoint now_ = kStart;
  std::mt19937_64 random_;
  std::priority_queue<Event> events_;
  std::uint64_t events_made_ = 0;
};

}  // namespace weir::sim
