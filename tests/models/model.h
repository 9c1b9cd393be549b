// The interface that all reference models share, and the searches that answer from it (reference_models.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "weir/allowance.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir::models {

__extension__ typedef __int128 Wide;

struct Answer {
  bool admitted = true;
  bool too_large = false;
  std::int64_t remaining = 0;
  Duration retry_after{0};
  Duration reset_after{0};
  Duration delay{0};

  friend bool operator==(const Answer&, const Answer&) = default;
};

// The same members of what a store or an algorithm answered, for comparison.
inline Answer answer_of(const ChargeOutcome& outcome) {
  return {outcome.admitted,    outcome.too_large,   outcome.remaining,
          outcome.retry_after, outcome.reset_after, outcome.delay};
}

class ReferenceModel {
 public:
  explicit ReferenceModel(const Allowance& allowance) : allowance_(allowance) {}
  virtual ~ReferenceModel() = default;

  // What take() would answer. Changes nothing.
  Answer peek(TimePoint now, std::int64_t cost) const {
    Answer answer;
    const std::int64_t time = time_at(now);
    answer.too_large = cost > largest_cost();
    answer.admitted = admits(now, cost);
    const std::unique_ptr<ReferenceModel> after = clone();
    if (answer.admitted && cost > 0) {
      answer.delay = Duration{delay(time)};
      after->admit(now, cost);
    }
    answer.remaining = after->units_left(time);
    if (!answer.admitted && !answer.too_large) {
      answer.retry_after = wait_until(now, [&](std::int64_t at) { return fits(at, cost); });
    }
    if (after->used(time)) {
      answer.reset_after = wait_until(now, [&](std::int64_t at) { return !after->used(at); });
    }
    return answer;
  }

  // Charges if it fits; a denial changes nothing.
  Answer take(TimePoint now, std::int64_t cost) {
    const Answer answer = peek(now, cost);
    admit(now, cost);
    return answer;
  }

  // take() without the searches, for long runs.
  bool admit(TimePoint now, std::int64_t cost) {
    if (!admits(now, cost)) return false;
    if (cost > 0) change(now, [&](std::int64_t time) { add(time, cost); });
    return true;
  }

  // Charges whether it fits or not.
  void charge_anyway(TimePoint now, std::int64_t cost) {
    if (cost > 0) change(now, [&](std::int64_t time) { add(time, cost); });
  }

  // A denied attempt that counts (count_denied). Precondition: peek() denied it.
  void count_denied(TimePoint now, std::int64_t cost) {
    change(now, [&](std::int64_t time) { add_denied(time, cost); });
  }

  // Gives back, never above full. A refund that finds nothing to give back changes nothing.
  void refund(TimePoint now, std::int64_t cost) {
    if (cost == 0 || !used(time_at(now))) return;
    change(now, [&](std::int64_t time) { give_back(time, cost); });
  }

 protected:
  // Does `cost` (1 to the largest) fit at `time`, if nothing else happens until then?
  virtual bool fits(std::int64_t time, std::int64_t cost) const = 0;
  // Is anything missing from a fresh bucket at `time`?
  virtual bool used(std::int64_t time) const = 0;
  virtual void add(std::int64_t time, std::int64_t cost) = 0;
  virtual void add_denied(std::int64_t time, std::int64_t cost) = 0;
  virtual void give_back(std::int64_t time, std::int64_t cost) = 0;
  virtual std::int64_t delay(std::int64_t) const { return 0; }
  virtual std::int64_t largest_cost() const { return allowance_.limit; }
  virtual std::unique_ptr<ReferenceModel> clone() const = 0;
  // The largest cost that fits.
  virtual std::int64_t units_left(std::int64_t time) const {
    return last_true(largest_cost(), [&](std::int64_t cost) { return fits(time, cost); });
  }

  // The largest n in 1..most with holds(n), else 0. Precondition: holds is true up to some n and false after it.
  template <typename Holds>
  static std::int64_t last_true(std::int64_t most, Holds holds) {
    std::int64_t low = 0;
    std::int64_t high = most;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (holds(middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  const Allowance allowance_;
  std::int64_t last_ = 0;  // time of the last change

 private:
  static std::int64_t tick(TimePoint now) { return std::max<std::int64_t>(0, micros(now)); }
  std::int64_t time_at(TimePoint now) const { return std::max(tick(now), last_); }
  bool admits(TimePoint now, std::int64_t cost) const {
    return cost == 0 || (cost <= largest_cost() && fits(time_at(now), cost));
  }

  template <typename Change>
  void change(TimePoint now, Change apply) {
    const std::int64_t time = time_at(now);
    apply(time);
    last_ = time;
  }

  // The shortest wait, by the caller's clock, after which holds(time) is true and stays so.
  template <typename Holds>
  Duration wait_until(TimePoint now, Holds holds) const {
    constexpr std::int64_t kFarthest = std::int64_t{1} << 62;
    const std::int64_t start = tick(now);
    const std::int64_t not_yet =
        last_true(kFarthest - start, [&](std::int64_t wait) { return !holds(std::max(start + wait, last_)); });
    return Duration{not_yet + 1};
  }
};

}  // namespace weir::models
