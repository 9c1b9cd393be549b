#include "rules/compile/window_lengths.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weir::rules {

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

namespace {

bool same_length(const Allowance& a, const Allowance& b) { return a.window == b.window && a.buckets == b.buckets; }

Allowance with_limit(const Allowance& length, std::int64_t limit) {
  AllowanceSpec spec;
  spec.algorithm = length.algorithm;
  spec.limit = limit;
  spec.window = length.window;
  if (length.algorithm == Algorithm::bucketed_window) spec.buckets = length.buckets;
  const Result<Allowance> made = make_allowance(spec);
  assert(made.ok());
  return made.value();
}

Allowance recording_of(const Allowance& allowance) {
  return with_limit(allowance, allowance.algorithm == Algorithm::sliding_log ? kMaxLogLimit : kMaxUnits);
}

// When nothing of what passed before `now` counts in a window of this length any more.
TimePoint end_of_window(const Allowance& length, TimePoint now) {
  const Duration boundary = length.window - Duration{micros(now) % length.window.count()};
  if (length.algorithm == Algorithm::fixed_window) return now + boundary;
  if (length.algorithm == Algorithm::sliding_counter) return now + boundary + length.window;
  return now + length.window;
}

// Spreads every bit of `value` over 64 (the finalizer of MurmurHash3).
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 33U)) * 0xff51afd7ed558ccdU;
  value = (value ^ (value >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return value ^ (value >> 33U);
}

}  // namespace

bool WindowLengths::add(const Allowance& allowance) {
  if (!counts_windows(allowance.algorithm)) return true;
  const Age new_here{.complete_from = goes_on_ ? end_of_window(allowance, loaded_) : TimePoint::min()};
  if (!has_first_) {  // its bucket has the subject's key, whatever its length was
    has_first_ = true;
    if (lengths_.empty()) {
      append(allowance, new_here);
    } else if (same_length(lengths_.front(), allowance)) {
      ages_.front().counts_until = TimePoint::max();
    } else {
      lengths_.front() = recording_of(allowance);
      ages_.front() = new_here;
    }
    return true;
  }
  std::size_t own = 0;
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    if (same_length(lengths_[i], allowance)) {
      ages_[i].counts_until = TimePoint::max();
      return true;
    }
    own += ages_[i].is_former() ? 0 : 1;
  }
  if (own >= kMaxWindowLengths) return false;
  append(allowance, new_here);
  return true;
}

void WindowLengths::append(const Allowance& allowance, Age age) {
  lengths_.push_back(recording_of(allowance));
  ages_.push_back(age);
}

WindowLengths WindowLengths::as_former(TimePoint now) const {
  WindowLengths former;
  former.goes_on_ = true;
  former.loaded_ = now;
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    Age age = ages_[i];
    if (!age.is_former()) age.counts_until = end_of_window(lengths_[i], now);
    if (i > 0 && age.counts_until <= now) continue;
    former.append(lengths_[i], age);
  }
  return former;
}

void WindowLengths::sort_former() {
  if (!has_first_) {
    *this = WindowLengths();
    return;
  }
  std::vector<std::size_t> order(lengths_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin() + 1, order.end(),
                   [&](std::size_t a, std::size_t b) { return ages_[a].counts_until > ages_[b].counts_until; });
  order.resize(std::min(order.size(), kMaxWindowLengths));
  const std::vector<Allowance> lengths = std::move(lengths_);
  const std::vector<Age> ages = std::move(ages_);
  lengths_.clear();
  ages_.clear();
  for (const std::size_t i : order) append(lengths[i], ages[i]);
}

// Only what is asked under a length that is new has bounds; most rules have none.
void WindowLengths::add_bounds(const Allowance& allowance) {
  if (!several() || !counts_windows(allowance.algorithm) || allowance.limit == 0) return;
  if (complete_from(allowance) == TimePoint::min()) return;
  const auto below = [](const Bounds& bounds, std::int64_t limit) { return bounds.limit < limit; };
  auto found = std::lower_bound(bounds_.begin(), bounds_.end(), allowance.limit, below);
  if (found == bounds_.end() || found->limit != allowance.limit) {
    found = bounds_.insert(found, Bounds{allowance.limit, {}});
    for (const Allowance& length : lengths_) found->each.push_back(with_limit(length, allowance.limit));
  }
  for (Allowance& each : found->each) each.overdraft = std::max(each.overdraft, allowance.overdraft);
}

const Allowance* WindowLengths::bounds(const Allowance& allowance, TimePoint now) const {
  if (bounds_.empty() || complete_from(allowance) <= now) return nullptr;
  const auto below = [](const Bounds& bounds, std::int64_t limit) { return bounds.limit < limit; };
  const auto found = std::lower_bound(bounds_.begin(), bounds_.end(), allowance.limit, below);
  return found != bounds_.end() && found->limit == allowance.limit ? found->each.data() : nullptr;
}

std::size_t WindowLengths::index_of(const Allowance& allowance) const {
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    if (same_length(lengths_[i], allowance)) return i;
  }
  return 0;
}

std::size_t WindowLengths::counting(TimePoint now) const {
  std::size_t count = lengths_.size();
  while (count > 1 && ages_[count - 1].counts_until <= now) --count;
  return count;
}

std::size_t WindowLengths::longest(TimePoint now) const {
  const auto shorter = [](const Allowance& a, const Allowance& b) { return a.window < b.window; };
  const auto end = lengths_.begin() + static_cast<std::ptrdiff_t>(counting(now));
  return static_cast<std::size_t>(std::max_element(lengths_.begin(), end, shorter) - lengths_.begin());
}

BucketKey WindowLengths::key(BucketKey subject, std::size_t index) const {
  if (index == 0) return subject;
  const auto window = static_cast<std::uint64_t>(lengths_[index].window.count());
  const auto buckets = static_cast<std::uint64_t>(lengths_[index].buckets);
  // The subject's key is a keyed hash, so no one outside can choose what this makes of it.
  return {subject.high ^ mixed(window), subject.low ^ mixed(window + (buckets << 52U) + 1)};
}

}  // namespace weir::rules
