// TimeSeries: counts over time, in at most kMaxSteps steps of equal length, whatever time they cover: when the time
// is over, two steps become one. Times before the first one count in the first step. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulate/subject_table.h"
#include "weir/time.h"

namespace weir::simulate {

struct StepCounts {
  std::uint64_t requests = 0;
  std::array<std::uint64_t, kMaxSets> denied{};
};

class TimeSeries {
 public:
  static constexpr std::size_t kMaxSteps = 240;

  void add(TimePoint time, const StepCounts& counts);

  TimePoint start() const { return start_; }
  Duration step() const { return step_; }
  const std::vector<StepCounts>& steps() const { return steps_; }

 private:
  void halve();

  TimePoint start_{};
  Duration step_ = std::chrono::seconds(1);
  std::vector<StepCounts> steps_;
};

// The most requests in any second, and in any minute of the clock. For times that do not decrease.
class PeakRates {
 public:
  struct Peak {
    std::uint64_t requests = 0;
    TimePoint at{};
  };
  void add(TimePoint time) {
    count(time, std::chrono::seconds(1), second_, of_second_);
    count(time, std::chrono::minutes(1), minute_, of_minute_);
  }
  const Peak& second() const { return second_; }
  const Peak& minute() const { return minute_; }

 private:
  struct Running {
    TimePoint since{};
    std::uint64_t requests = 0;
  };
  static void count(TimePoint time, Duration length, Peak& peak, Running& running);

  Peak second_;
  Peak minute_;
  Running of_second_;
  Running of_minute_;
};

}  // namespace weir::simulate
