#include "simulate/time_series.h"

#include <algorithm>

namespace weir::simulate {
namespace {

void add_to(StepCounts& sum, const StepCounts& more) {
  sum.requests += more.requests;
  for (std::size_t set = 0; set < kMaxSets; ++set) sum.denied[set] += more.denied[set];
}

TimePoint rounded(TimePoint time, Duration to) { return time - time.time_since_epoch() % to; }

}  // namespace

void TimeSeries::add(TimePoint time, const StepCounts& counts) {
  if (steps_.empty()) start_ = rounded(time, step_);
  std::int64_t at = std::max<std::int64_t>(0, (time - start_) / step_);
  while (at >= static_cast<std::int64_t>(kMaxSteps)) {
    halve();
    at = (time - start_) / step_;
  }
  if (steps_.size() <= static_cast<std::size_t>(at)) steps_.resize(static_cast<std::size_t>(at) + 1);
  add_to(steps_[static_cast<std::size_t>(at)], counts);
}

void TimeSeries::halve() {
  // Steps end at multiples of their length, so that they look sensible: 2 s, 4 s, …
  const TimePoint start = rounded(start_, 2 * step_);
  const std::size_t shift = start == start_ ? 0 : 1;
  std::vector<StepCounts> wider((steps_.size() + shift + 1) / 2);
  for (std::size_t i = 0; i < steps_.size(); ++i) add_to(wider[(i + shift) / 2], steps_[i]);
  steps_ = std::move(wider);
  start_ = start;
  step_ *= 2;
}

void PeakRates::count(TimePoint time, Duration length, Peak& peak, Running& running) {
  if (time - running.since >= length || time < running.since) running = {rounded(time, length), 0};
  if (++running.requests > peak.requests) peak = {running.requests, running.since};
}

}  // namespace weir::simulate
