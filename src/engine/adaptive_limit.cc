#include "engine/adaptive_limit.h"

#include <algorithm>
#include <cmath>

namespace weir::engine {
namespace {

// A round has at least so many completions, so that its mean is not noise; it ends after kLongestRound in any case.
constexpr std::int64_t kCompletions = 150;
constexpr std::int64_t kStartCompletions = 60;
constexpr std::int64_t kLeastCompletions = 5;
constexpr std::int64_t kShortestRound = 50'000;
constexpr std::int64_t kLongestRound = 10'000'000;

constexpr double kSettling = 1.5;  // times that leases are held on average

constexpr double kVariation = 0.05;
// W in terms of the baseline: below the first the limit may grow, above the second it shrinks, above the third it
// falls.
constexpr double kNothingWaits = 1.08;
constexpr double kSomeWaits = 1.16;
constexpr double kMuchWaits = 1.3;
constexpr double kTarget = 1.06;  // N in terms of what the throughput needs at the baseline
constexpr double kStart = 1.7;
constexpr double kHalf = 0.4;
constexpr double kGain = 0.5;
constexpr double kLargestCut = 0.4;
constexpr double kLower = 0.03;   // share of a shorter W that the baseline takes over
constexpr double kHigher = 0.2;   // and of a longer one, where X and N move together
constexpr double kMemory = 0.85;  // of sums, from round to round
constexpr double kEnoughRounds = 3;
constexpr double kTogether = 0.7;  // elasticity from which on X and N move together
constexpr double kLeastDifference = 0.06;

}  // namespace

AdaptiveLimit::AdaptiveLimit(const AutoLimit& bounds) : bounds_(bounds), center_(static_cast<double>(bounds.min)) {
  vary();
}

void AdaptiveLimit::Sums::add(const Measured& measured) {
  throughput = throughput * kMemory + measured.throughput;
  held = held * kMemory + measured.held;
  rounds = rounds * kMemory + 1;
}

// At least one more or less, or small limits would never differ.
void AdaptiveLimit::vary() {
  const double step = starting_ ? 0 : std::max(1.0, center_ * kVariation);
  applied_ =
      std::clamp(static_cast<std::int64_t>(std::llround(center_ + (high_ ? step : -step))), bounds_.min, bounds_.max);
}

void AdaptiveLimit::move(double center) {
  center_ = std::clamp(center, static_cast<double>(bounds_.min), static_cast<double>(bounds_.max));
}

bool AdaptiveLimit::is_over(std::int64_t now_us) const {
  const std::int64_t length = now_us - round_.begin_us;
  const std::int64_t enough = starting_ ? kStartCompletions : kCompletions;
  return length >= kLongestRound || (length >= kShortestRound && round_.completions >= enough);
}

// What completes first under another limit was begun before it, or was short.
bool AdaptiveLimit::has_settled(std::int64_t now_us) const {
  const std::int64_t length = now_us - round_.begin_us;
  return length >= kLongestRound ||
         static_cast<double>(length) >= kSettling * round_.held_us / static_cast<double>(round_.completions);
}

void AdaptiveLimit::completed(Duration held, TimePoint now) {
  const std::int64_t now_us = micros(now);
  if (round_.begin_us == 0 || now_us < round_.begin_us) round_ = {.begin_us = now_us};
  const auto held_us = static_cast<double>(std::max<std::int64_t>(1, held.count()));
  ++round_.completions;
  round_.held_us += held_us;
  if (settling_ && has_settled(now_us)) {
    settling_ = false;
    round_ = {.begin_us = now_us, .refusals = round_.refusals};
  } else if (!settling_ && is_over(now_us)) {
    finish(now_us);
  }
}

void AdaptiveLimit::finish(std::int64_t now_us) {
  const auto length = static_cast<double>(std::max<std::int64_t>(1, now_us - round_.begin_us));
  const auto count = static_cast<double>(round_.completions);
  Measured measured;
  measured.throughput = count / length;
  measured.mean_us = round_.held_us / count;
  measured.held = measured.throughput * measured.mean_us;
  measured.limited = round_.refusals > 0 || (without_leases_ && measured.held >= static_cast<double>(applied_));
  const bool enough = round_.completions >= kLeastCompletions;
  round_ = {.begin_us = now_us};
  settling_ = true;
  if (enough) adapt(measured);
  high_ = !high_;
  vary();
}

void AdaptiveLimit::adapt(const Measured& measured) {
  if (baseline_us_ == 0) baseline_us_ = measured.mean_us;
  if (was_mistaken(measured)) {
    baseline_us_ = measured.mean_us;
    move(center_before_cut_);
  }
  before_cut_ = {};
  if (starting_ && start(measured)) return;
  if (measured.mean_us < baseline_us_) baseline_us_ += kLower * (measured.mean_us - baseline_us_);
  look_for_elasticity(measured);
  const double ratio = measured.mean_us / baseline_us_;
  if (ratio > kSomeWaits) {
    const double needed = measured.throughput * baseline_us_ * kTarget;
    if (needed >= center_) return;
    if (ratio < kMuchWaits) return move((center_ + needed) / 2);
    before_cut_ = measured;
    center_before_cut_ = center_;
    move(std::max(needed, center_ * kLargestCut));
  } else if (ratio < kNothingWaits && measured.limited) {
    move(center_ * (1 + kGain * (kNothingWaits - ratio)));
  }
}

// Fast, as long as X grows with N. False: it no longer does.
bool AdaptiveLimit::start(const Measured& measured) {
  const double ratio = measured.mean_us / baseline_us_;
  if (last_start_.throughput > 0 && ratio > kNothingWaits) {
    const double difference = std::log(measured.held / last_start_.held);
    const double growth = std::log(measured.throughput / last_start_.throughput);
    const bool seen = difference > kLeastDifference;
    if ((seen && growth < kHalf * difference) || (!seen && ratio > kMuchWaits)) {
      starting_ = false;
      return false;
    }
  }
  // Nothing waits so far, so each round tells the baseline.
  ++started_;
  baseline_us_ += (measured.mean_us - baseline_us_) / started_;
  last_start_ = measured;
  if (measured.limited) move(center_ * kStart);
  return true;
}

// After a cut: W is as long as before, and X has fallen with N.
bool AdaptiveLimit::was_mistaken(const Measured& measured) const {
  if (before_cut_.throughput == 0) return false;
  const double difference = std::log(measured.held / before_cut_.held);
  if (difference > -2 * kLeastDifference) return false;
  return std::log(measured.throughput / before_cut_.throughput) / difference > kTogether;
}

// The same from the variations of many rounds: what a single cut does not show.
void AdaptiveLimit::look_for_elasticity(const Measured& measured) {
  sums_[high_ ? 1 : 0].add(measured);
  const Sums& low = sums_[0];
  const Sums& high = sums_[1];
  if (low.rounds < kEnoughRounds || high.rounds < kEnoughRounds) return;
  const double difference = std::log(high.held / high.rounds) - std::log(low.held / low.rounds);
  if (difference < kLeastDifference) return;
  const double elasticity =
      (std::log(high.throughput / high.rounds) - std::log(low.throughput / low.rounds)) / difference;
  if (elasticity > kTogether && measured.mean_us > baseline_us_) {
    baseline_us_ += kHigher * (measured.mean_us - baseline_us_);
  }
}

}  // namespace weir::engine
