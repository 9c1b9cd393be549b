// PenaltyModel: what weir/penalty.h says, step by step, with nothing of the code under test.
#pragma once

#include <algorithm>
#include <vector>

#include "weir/penalty.h"
#include "weir/time.h"

namespace weir::models {

class PenaltyModel {
 public:
  explicit PenaltyModel(const Penalty& penalty) : penalty_(penalty) {}

  bool penalized(TimePoint now) const { return now < until_; }
  bool challenge(TimePoint now) const { return penalized(now) && step_ <= penalty_.challenges; }
  Duration wait(TimePoint now) const { return penalized(now) ? until_ - now : Duration(0); }

  void strike(TimePoint now) {
    take_back_steps(now);
    if (!strikes_.empty() && now - strikes_.front() >= penalty_.within) strikes_.clear();
    if (strikes_.empty()) quiet_since_ = now;
    strikes_.push_back(now);
    if (static_cast<int>(strikes_.size()) < penalty_.after) return;
    strikes_.clear();
    step_ = std::min(step_ + 1, kMaxPenaltySteps);
    until_ = quiet_since_ = now + length();
  }

  void success(TimePoint now) {
    strikes_.clear();
    if (penalized(now) && !challenge(now)) return;
    take_back_steps(now);
    until_ = quiet_since_ = now;
  }

 private:
  void take_back_steps(TimePoint now) {
    while (step_ > 0 && now - quiet_since_ >= penalty_.decay) {
      --step_;
      quiet_since_ += penalty_.decay;
    }
  }

  Duration length() const {
    const Duration most = std::min(penalty_.max == Duration(0) ? 16 * penalty_.block : penalty_.max, kMaxPenalty);
    Duration length = penalty_.block;
    for (int i = 1; i < step_ && length < most; ++i) length *= penalty_.factor;
    return std::min(length, most);
  }

  const Penalty penalty_;
  std::vector<TimePoint> strikes_;
  int step_ = 0;
  TimePoint until_{};
  TimePoint quiet_since_{};
};

}  // namespace weir::models
