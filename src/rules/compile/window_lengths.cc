#include "rules/compile/window_lengths.h"

#include <algorithm>
#include <cassert>

namespace weir::rules {
namespace {

bool counts_windows(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::fixed_window:
    case Algorithm::bucketed_window:
    case Algorithm::sliding_log:
    case Algorithm::sliding_counter:
      return true;
    case Algorithm::token_bucket:
    case Algorithm::gcra:
    case Algorithm::leaky_bucket:
      return false;
  }
  return false;
}

bool same_length(const Allowance& a, const Allowance& b) { return a.window == b.window && a.buckets == b.buckets; }

// Spreads every bit of `value` over 64 (the finalizer of MurmurHash3).
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 33U)) * 0xff51afd7ed558ccdU;
  value = (value ^ (value >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return value ^ (value >> 33U);
}

}  // namespace

bool WindowLengths::add(const Allowance& allowance) {
  if (!counts_windows(allowance.algorithm)) return true;
  const auto is_same = [&](const Allowance& known) { return same_length(known, allowance); };
  if (std::any_of(lengths_.begin(), lengths_.end(), is_same)) return true;
  if (lengths_.size() == kMaxWindowLengths) return false;
  AllowanceSpec spec;
  spec.algorithm = allowance.algorithm;
  spec.limit = allowance.algorithm == Algorithm::sliding_log ? kMaxLogLimit : kMaxUnits;
  spec.window = allowance.window;
  if (allowance.algorithm == Algorithm::bucketed_window) spec.buckets = allowance.buckets;
  Result<Allowance> recording = make_allowance(spec);
  assert(recording.ok());
  lengths_.push_back(recording.value());
  return true;
}

std::size_t WindowLengths::index_of(const Allowance& allowance) const {
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    if (same_length(lengths_[i], allowance)) return i;
  }
  return 0;
}

std::size_t WindowLengths::longest() const {
  const auto shorter = [](const Allowance& a, const Allowance& b) { return a.window < b.window; };
  return static_cast<std::size_t>(std::max_element(lengths_.begin(), lengths_.end(), shorter) - lengths_.begin());
}

BucketKey WindowLengths::key(BucketKey subject, std::size_t index) const {
  if (index == 0) return subject;
  const auto window = static_cast<std::uint64_t>(lengths_[index].window.count());
  const auto buckets = static_cast<std::uint64_t>(lengths_[index].buckets);
  // The subject's key is a keyed hash, so no one outside can choose what this makes of it.
  return {subject.high ^ mixed(window), subject.low ^ mixed(window + (buckets << 52U) + 1)};
}

}  // namespace weir::rules
