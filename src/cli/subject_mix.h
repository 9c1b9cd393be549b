// SubjectMix: which of N subjects the n-th request of a benchmark is for. Deterministic: the n-th request is the same
// in every run. Immutable, so thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::cli {

class SubjectMix {
 public:
  // "even": one after the other. "random": all equally likely. "hot": the k-th is 1/k times as likely as the first
  // (Zipf), as with a few busy callers among many. Precondition: count > 0.
  SubjectMix(std::string_view kind, std::size_t count) : count_(count), even_(kind == "even") {
    if (kind != "hot") return;
    double sum = 0;
    for (std::size_t i = 1; i <= count; ++i) shares_.push_back(sum += 1.0 / static_cast<double>(i));
  }

  std::size_t pick(std::uint64_t n) const {
    if (even_) return static_cast<std::size_t>(n % count_);
    if (shares_.empty()) return static_cast<std::size_t>(scattered(n) % count_);
    constexpr double kParts = 9007199254740992.0;  // 2^53
    const double at = static_cast<double>(scattered(n) >> 11) / kParts * shares_.back();
    const auto found = std::upper_bound(shares_.begin(), shares_.end(), at);
    return std::min(static_cast<std::size_t>(found - shares_.begin()), count_ - 1);
  }

 private:
  // A number that looks random, from the request's place in the run.
  static std::uint64_t scattered(std::uint64_t n) {
    n = (n + 1) * 0x9e3779b97f4a7c15U;
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9U;
    n = (n ^ (n >> 27)) * 0x94d049bb133111ebU;
    return n ^ (n >> 31);
  }

  const std::size_t count_;
  const bool even_;
  std::vector<double> shares_;  // of "hot": running sums
};

}  // namespace weir::cli
