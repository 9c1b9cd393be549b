// History: how many decisions there were, each second of the last five minutes, and coarser for an hour and a day. For
// people who have no time series database at hand, and for those who are woken before they find it.
//
// Filled by one thread from counters that exist anyway (history_sampler.h), so the threads that decide pay nothing.
// Counts between two samples are divided among the steps that they overlap. A step that no sample covers is a gap; so
// is everything between two samples that are further apart than kLongestPause.
//
// Memory is bounded: the steps of each range, and the same for at most kMaxHistoryRules rules, which are those that
// counted something most recently.
//
// Thread-safe. Readers copy what they ask for.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/latency_counts.h"
#include "weir/time.h"

namespace weir::observe {

enum class HistoryRange : std::uint8_t { five_minutes, hour, day };
inline constexpr std::size_t kHistoryRangeCount = 3;
// "5m", "1h", "24h".
std::string_view history_range_name(HistoryRange range);
std::optional<HistoryRange> history_range_from_name(std::string_view name);

inline constexpr std::size_t kMaxHistoryRules = 256;

// What is counted of all decisions together.
enum class Total : std::uint8_t {
  allowed,
  denied,         // everything that was refused, except what was shed
  shadow_denied,  // by rules in shadow mode: not refused
  shed,
  degraded,  // decided without the store
  blocked,   // among the denied
};
inline constexpr std::size_t kTotalCount = 6;

// What is counted of one rule.
enum class RuleTotal : std::uint8_t { passed, denied, shadow_denied };
inline constexpr std::size_t kRuleTotalCount = 3;

// The mark of a gap in a series.
inline constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
inline bool is_gap(double value) { return std::isnan(value); }

// Averages per second, oldest first; kGap where nothing is known.
template <std::size_t N>
struct Series {
  TimePoint start;
  Duration step{0};
  std::array<std::vector<double>, N> values;
};

class History {
 public:
  // Samples further apart than this leave a gap between them.
  static constexpr Duration kLongestPause = std::chrono::seconds(10);
  // "Now" is an average over this long.
  static constexpr Duration kNow = std::chrono::seconds(10);

  struct RuleCounts {
    std::string_view rule;  // need not stay alive
    std::array<std::uint64_t, kRuleTotalCount> counts{};
  };
  // What was counted since the start, up to `at`. Counts may begin again at zero, those of a rule too.
  struct Sample {
    TimePoint at;
    std::array<std::uint64_t, kTotalCount> totals{};
    std::vector<RuleCounts> rules;
    base::LatencySums latency;
  };
  struct RuleRates {
    std::string rule;
    std::array<double, kRuleTotalCount> per_second{};  // now
    TimePoint last_seen;                               // when it last counted anything
  };

  History();

  // From one thread at a time. A sample that is not later than the one before only becomes what the next is compared
  // with.
  void add(const Sample& sample);

  Series<kTotalCount> totals(HistoryRange range) const;
  // Of the same steps: how long 99 of 100 answers took, in milliseconds, in the slowest second of the step. A step
  // without answers is a gap.
  std::vector<double> p99_ms(HistoryRange range) const;
  // Only gaps if nothing is kept of that rule.
  Series<kRuleTotalCount> rule(std::string_view id, HistoryRange range) const;

  std::array<double, kTotalCount> rates() const;
  std::vector<RuleRates> rule_rates() const;
  std::optional<RuleRates> rule_rates(std::string_view id) const;
  // Of all decisions of the last day, the share that was denied; 0 if there were none.
  double usual_denied_share() const;
  // How long answers took, in the time that is now: latency_quantile() of this.
  base::LatencySums latency() const;

 private:
  // The steps of one range, in a ring. A slot holds what was counted in its step, and how much of the step is covered.
  struct Steps {
    Duration step{0};
    std::size_t length = 0;
    std::int64_t newest = 0;  // number of the newest step since the epoch
    std::vector<double> covered;
    std::array<std::vector<double>, kTotalCount> counts;
    std::vector<double> p99_ms;  // 0: no answers

    std::size_t slot(std::int64_t number) const {
      return static_cast<std::size_t>(number % static_cast<std::int64_t>(length));
    }
  };
  struct TrackedRule {
    std::array<std::uint64_t, kRuleTotalCount> before{};
    TimePoint last_seen;
    std::array<std::array<std::vector<float>, kRuleTotalCount>, kHistoryRangeCount> counts;
  };
  struct PastLatency {
    TimePoint at;
    base::LatencySums sums;
  };
  using Tracked = std::map<std::string, TrackedRule, std::less<>>;
  // A part of the time between two samples, within one step.
  struct Piece {
    std::size_t slot = 0;
    double share = 0;
  };

  void advance(std::size_t range, TimePoint to);
  std::vector<Piece> divide(std::size_t range, TimePoint from, TimePoint to);
  void add_rules(const Sample& sample, const std::array<std::vector<Piece>, kHistoryRangeCount>& pieces);
  TrackedRule* track(std::string_view id, TimePoint at);
  void add_latency(const Sample& sample, const std::array<std::vector<Piece>, kHistoryRangeCount>& pieces);
  std::int64_t last_whole_step(const Steps& steps) const;
  std::int64_t first_step(const Steps& steps) const;
  RuleRates rates_of(const Tracked::value_type& tracked) const;
  template <std::size_t N, typename Counts>
  Series<N> series_of(const Steps& steps, const Counts* counts) const;

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::array<Steps, kHistoryRangeCount> ranges_;
  std::optional<TimePoint> last_;
  std::array<std::uint64_t, kTotalCount> before_{};
  Tracked rules_;
  std::deque<PastLatency> latencies_;  // of the time that is now, oldest first
};

}  // namespace weir::observe
