// AdaptiveLimit: how many leases of one subject may be held at a time, found from how long they are held and how many
// complete. Pure arithmetic: time is passed in, nothing is random.
//
// It works in rounds. A round is long enough for some completions; of it are known the throughput X (completions per
// second), the mean time W that a lease was held, and so how many were held on average, N = X W (Little's law).
//
// The baseline is W while nothing waits. As long as W is near it, a limit that holds something back grows; when W is
// well above it, leases wait for each other, and the limit becomes what the throughput needs at the baseline: X times
// the baseline, and a little more.
//
// W may also be longer because the work itself takes longer. Then fewer leases do not make it shorter: X falls as N
// does. Only where X and N are seen to move together does the baseline rise. So neither can a long overload raise it,
// nor does the limit starve what has become slow. To see it, the limit is varied a little, up and down in turn; nothing
// is ever held back just to measure.
//
// Not thread-safe.
#pragma once

#include <cstdint>

#include "weir/rule.h"
#include "weir/time.h"

namespace weir::engine {

class AdaptiveLimit {
 public:
  // Begins at the smallest limit, where the least waits, and grows fast at first.
  explicit AdaptiveLimit(const AutoLimit& bounds);

  // What applies now: the limit with its small variation, within the bounds.
  std::int64_t limit() const { return applied_; }
  // Mean time held while nothing waits, as far as it is known; 0: not yet.
  Duration baseline() const { return Duration(static_cast<std::int64_t>(baseline_us_)); }

  // A lease was refused because of the limit, or would have been.
  void refused() { ++round_.refusals; }
  // A lease that was held for so long has been released.
  void completed(Duration held, TimePoint now);
  // Work without a lease took so long. What is in progress at a time is then known from Little's law alone: the limit
  // holds something back if that is more.
  void reported(Duration took, TimePoint now) {
    without_leases_ = true;
    completed(took, now);
  }

 private:
  struct Round {
    std::int64_t begin_us = 0;
    std::int64_t completions = 0;
    double held_us = 0;
    std::int64_t refusals = 0;
  };
  // What is known of a round that is over.
  struct Measured {
    double throughput = 0;  // per microsecond
    double held = 0;        // leases, on average
    double mean_us = 0;     // time held
    bool limited = false;   // the limit has held something back
  };
  // Sums over rounds of one variation, of which older ones count less.
  struct Sums {
    double throughput = 0;
    double held = 0;
    double rounds = 0;
    void add(const Measured& measured);
    void forget() { *this = {}; }
  };

  bool has_settled(std::int64_t now_us) const;
  bool is_over(std::int64_t now_us) const;
  void finish(std::int64_t now_us);
  void adapt(const Measured& measured);
  bool start(const Measured& measured);
  bool was_mistaken(const Measured& measured) const;
  void look_for_elasticity(const Measured& measured);
  void move(double center);
  void vary();

  AutoLimit bounds_;
  double center_;
  std::int64_t applied_ = 1;
  double baseline_us_ = 0;
  bool starting_ = true;  // until something waits for the first time
  int started_ = 0;       // rounds of the start so far
  Measured last_start_;   // the last of them
  bool high_ = false;     // the variation of this round
  bool without_leases_ = false;
  bool settling_ = true;  // what completes was begun under another limit
  Round round_;
  Sums sums_[2];         // of low and of high rounds
  Measured before_cut_;  // the round before the limit fell; throughput 0: it did not
  double center_before_cut_ = 0;
};

}  // namespace weir::engine
