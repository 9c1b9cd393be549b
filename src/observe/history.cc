#include "observe/history.h"

#include <algorithm>
#include <utility>

namespace weir::observe {
namespace {

struct RangeShape {
  std::string_view name;
  Duration step;
  std::size_t length;
};
constexpr RangeShape kRangeShapes[kHistoryRangeCount] = {
    {"5m", std::chrono::seconds(1), 300},
    {"1h", std::chrono::seconds(10), 360},
    {"24h", std::chrono::minutes(5), 288},
};

std::int64_t step_number(TimePoint time, Duration step) { return micros(time) / step.count(); }

double seconds_of(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

// Counts that began again at zero have counted this much since.
std::uint64_t growth(std::uint64_t before, std::uint64_t now) { return now >= before ? now - before : now; }

}  // namespace

std::string_view history_range_name(HistoryRange range) { return kRangeShapes[static_cast<std::size_t>(range)].name; }

std::optional<HistoryRange> history_range_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kHistoryRangeCount; ++i) {
    if (kRangeShapes[i].name == name) return static_cast<HistoryRange>(i);
  }
  return std::nullopt;
}

History::History() {
  for (std::size_t i = 0; i < kHistoryRangeCount; ++i) {
    Steps& steps = ranges_[i];
    steps.step = kRangeShapes[i].step;
    steps.length = kRangeShapes[i].length;
    steps.covered.assign(steps.length, 0);
    steps.p99_ms.assign(steps.length, 0);
    for (std::vector<double>& counts : steps.counts) counts.assign(steps.length, 0);
  }
}

// Makes the step of `to` the newest one and empties the slots that the steps up to it take over.
void History::advance(std::size_t range, TimePoint to) {
  Steps& steps = ranges_[range];
  const std::int64_t number = step_number(to, steps.step);
  const auto length = static_cast<std::int64_t>(steps.length);
  for (std::int64_t each = std::max(steps.newest + 1, number - length + 1); each <= number; ++each) {
    const std::size_t slot = steps.slot(each);
    steps.covered[slot] = 0;
    steps.p99_ms[slot] = 0;
    for (std::vector<double>& counts : steps.counts) counts[slot] = 0;
    for (auto& [id, tracked] : rules_) {
      for (std::vector<float>& counts : tracked.counts[range]) counts[slot] = 0;
    }
  }
  steps.newest = std::max(steps.newest, number);
}

std::vector<History::Piece> History::divide(std::size_t range, TimePoint from, TimePoint to) {
  Steps& steps = ranges_[range];
  std::vector<Piece> pieces;
  const double whole = seconds_of(to - from);
  for (std::int64_t number = step_number(from, steps.step); number <= step_number(to, steps.step); ++number) {
    if (number <= steps.newest - static_cast<std::int64_t>(steps.length)) continue;
    const TimePoint begins = from_micros(number * steps.step.count());
    const double overlap = seconds_of(std::min(to, begins + steps.step) - std::max(from, begins));
    if (overlap <= 0) continue;
    steps.covered[steps.slot(number)] += overlap;
    pieces.push_back({steps.slot(number), overlap / whole});
  }
  return pieces;
}

void History::add(const Sample& sample) {
  const std::lock_guard lock(mutex_);
  const bool continues = last_ && sample.at > *last_ && sample.at - *last_ <= kLongestPause;
  std::array<std::vector<Piece>, kHistoryRangeCount> pieces;
  if (continues) {
    for (std::size_t i = 0; i < kHistoryRangeCount; ++i) {
      advance(i, sample.at);
      pieces[i] = divide(i, *last_, sample.at);
      for (std::size_t t = 0; t < kTotalCount; ++t) {
        const auto grown = static_cast<double>(growth(before_[t], sample.totals[t]));
        for (const Piece& piece : pieces[i]) ranges_[i].counts[t][piece.slot] += grown * piece.share;
      }
    }
  }
  add_rules(sample, pieces);
  if (continues) add_latency(sample, pieces);
  before_ = sample.totals;
  last_ = sample.at;
  if (!continues) latencies_.clear();
  while (!latencies_.empty() && latencies_.front().at + kNow < sample.at) latencies_.pop_front();
  latencies_.push_back({sample.at, sample.latency});
}

// The sample before it is the last of latencies_.
void History::add_latency(const Sample& sample, const std::array<std::vector<Piece>, kHistoryRangeCount>& pieces) {
  const base::LatencySums grown = sample.latency.since(latencies_.back().sums);
  const double p99_ms = static_cast<double>(base::latency_quantile(grown, 990)) / 1e6;
  for (std::size_t i = 0; i < kHistoryRangeCount; ++i) {
    for (const Piece& piece : pieces[i]) {
      double& slowest = ranges_[i].p99_ms[piece.slot];
      slowest = std::max(slowest, p99_ms);
    }
  }
}

void History::add_rules(const Sample& sample, const std::array<std::vector<Piece>, kHistoryRangeCount>& pieces) {
  for (const RuleCounts& counted : sample.rules) {
    TrackedRule* const tracked = track(counted.rule, sample.at);
    if (tracked == nullptr) continue;
    for (std::size_t t = 0; t < kRuleTotalCount; ++t) {
      const std::uint64_t grown = growth(std::exchange(tracked->before[t], counted.counts[t]), counted.counts[t]);
      if (grown == 0) continue;
      tracked->last_seen = sample.at;
      for (std::size_t i = 0; i < kHistoryRangeCount; ++i) {
        for (const Piece& piece : pieces[i]) {
          tracked->counts[i][t][piece.slot] += static_cast<float>(static_cast<double>(grown) * piece.share);
        }
      }
    }
  }
}

// Null: there are enough, and all of them counted something more recently than a minute ago.
History::TrackedRule* History::track(std::string_view id, TimePoint at) {
  if (const auto found = rules_.find(id); found != rules_.end()) return &found->second;
  if (rules_.size() >= kMaxHistoryRules) {
    const auto idle = std::min_element(rules_.begin(), rules_.end(), [](const auto& left, const auto& right) {
      return left.second.last_seen < right.second.last_seen;
    });
    if (at - idle->second.last_seen < std::chrono::minutes(1)) return nullptr;
    rules_.erase(idle);
  }
  TrackedRule& made = rules_[std::string(id)];
  for (std::size_t i = 0; i < kHistoryRangeCount; ++i) {
    for (std::vector<float>& counts : made.counts[i]) counts.assign(ranges_[i].length, 0);
  }
  return &made;
}

// The newest step is still being filled; of a coarse range it is shown as far as it is known.
std::int64_t History::last_whole_step(const Steps& steps) const {
  return steps.step > std::chrono::seconds(1) ? steps.newest : steps.newest - 1;
}

std::int64_t History::first_step(const Steps& steps) const {
  return std::max<std::int64_t>(last_whole_step(steps) - static_cast<std::int64_t>(steps.length) + 2, 0);
}

template <std::size_t N, typename Counts>
Series<N> History::series_of(const Steps& steps, const Counts* counts) const {
  Series<N> series;
  series.step = steps.step;
  const std::int64_t first = first_step(steps);
  series.start = from_micros(first * steps.step.count());
  for (std::int64_t number = first; number <= last_whole_step(steps); ++number) {
    const std::size_t slot = steps.slot(number);
    const double covered = steps.covered[slot];
    for (std::size_t i = 0; i < N; ++i) {
      const bool known = covered > 0 && counts != nullptr;
      series.values[i].push_back(known ? static_cast<double>((*counts)[i][slot]) / covered : kGap);
    }
  }
  return series;
}

Series<kTotalCount> History::totals(HistoryRange range) const {
  const std::lock_guard lock(mutex_);
  const Steps& steps = ranges_[static_cast<std::size_t>(range)];
  return series_of<kTotalCount>(steps, &steps.counts);
}

std::vector<double> History::p99_ms(HistoryRange range) const {
  const std::lock_guard lock(mutex_);
  const Steps& steps = ranges_[static_cast<std::size_t>(range)];
  std::vector<double> values;
  for (std::int64_t number = first_step(steps); number <= last_whole_step(steps); ++number) {
    const double value = steps.p99_ms[steps.slot(number)];
    values.push_back(value > 0 ? value : kGap);
  }
  return values;
}

Series<kRuleTotalCount> History::rule(std::string_view id, HistoryRange range) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(range);
  const auto found = rules_.find(id);
  const auto* const counts = found == rules_.end() ? nullptr : &found->second.counts[index];
  return series_of<kRuleTotalCount>(ranges_[index], counts);
}

std::array<double, kTotalCount> History::rates() const {
  const std::lock_guard lock(mutex_);
  const Steps& steps = ranges_.front();
  std::array<double, kTotalCount> rates{};
  double covered = 0;
  for (std::int64_t back = 0; back <= kNow / steps.step && back <= steps.newest; ++back) {
    const std::size_t slot = steps.slot(steps.newest - back);
    covered += steps.covered[slot];
    for (std::size_t t = 0; t < kTotalCount; ++t) rates[t] += steps.counts[t][slot];
  }
  for (double& rate : rates) rate = covered > 0 ? rate / covered : 0;
  return rates;
}

History::RuleRates History::rates_of(const Tracked::value_type& tracked) const {
  const Steps& steps = ranges_.front();
  RuleRates rates;
  rates.rule = tracked.first;
  rates.last_seen = tracked.second.last_seen;
  double covered = 0;
  for (std::int64_t back = 0; back <= kNow / steps.step && back <= steps.newest; ++back) {
    const std::size_t slot = steps.slot(steps.newest - back);
    covered += steps.covered[slot];
    for (std::size_t t = 0; t < kRuleTotalCount; ++t) {
      rates.per_second[t] += static_cast<double>(tracked.second.counts.front()[t][slot]);
    }
  }
  for (double& rate : rates.per_second) rate = covered > 0 ? rate / covered : 0;
  return rates;
}

std::vector<History::RuleRates> History::rule_rates() const {
  const std::lock_guard lock(mutex_);
  std::vector<RuleRates> all;
  all.reserve(rules_.size());
  for (const auto& tracked : rules_) all.push_back(rates_of(tracked));
  return all;
}

std::optional<History::RuleRates> History::rule_rates(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = rules_.find(id);
  if (found == rules_.end()) return std::nullopt;
  return rates_of(*found);
}

double History::usual_denied_share() const {
  const std::lock_guard lock(mutex_);
  const Steps& day = ranges_.back();
  double all = 0;
  double denied = 0;
  for (std::size_t slot = 0; slot < day.length; ++slot) {
    denied += day.counts[static_cast<std::size_t>(Total::denied)][slot];
    all += day.counts[static_cast<std::size_t>(Total::allowed)][slot];
  }
  all += denied;
  return all > 0 ? denied / all : 0;
}

base::LatencySums History::latency() const {
  const std::lock_guard lock(mutex_);
  return latencies_.empty() ? base::LatencySums{} : latencies_.back().sums.since(latencies_.front().sums);
}

}  // namespace weir::observe
