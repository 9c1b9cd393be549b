// Zipf: how a load is spread over subjects. The k-th busiest gets a share in proportion to 1/k^skew.
//
// Made for up to 10^12 subjects: sums over many ranks are integrals. A plain value.
#pragma once

#include <cmath>

namespace weir::scale {

class Zipf {
 public:
  // subjects >= 1, 0 <= skew <= 3.
  Zipf(double subjects, double skew) : subjects_(std::floor(subjects)), skew_(skew), total_(weight(1, subjects_ + 1)) {}

  double subjects() const { return subjects_; }
  // Of the rank, from 1.
  double share(double rank) const { return std::pow(rank, -skew_) / total_; }
  // Of all ranks from `from`, without `to`.
  double share(double from, double to) const { return weight(from, to) / total_; }

 private:
  static constexpr double kCounted = 1'000;  // ranks that are added one by one

  double weight(double from, double to) const {
    double sum = 0;
    double rank = from;
    for (; rank < to && rank <= kCounted; ++rank) sum += std::pow(rank, -skew_);
    // The integral over [rank - 1/2, to - 1/2] differs from the sum by less than one part in 10^6 from here on.
    return rank < to ? sum + integral(to - 0.5) - integral(rank - 0.5) : sum;
  }
  double integral(double x) const {
    return std::abs(skew_ - 1) < 1e-9 ? std::log(x) : std::pow(x, 1 - skew_) / (1 - skew_);
  }

  double subjects_;
  double skew_;
  double total_;
};

}  // namespace weir::scale
