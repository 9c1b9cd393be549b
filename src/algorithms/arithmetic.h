// Integer arithmetic that no input can break: bounded moments, saturating and rounded-up operations.
//
// Pure functions, safe from any thread. Moments are ticks: microseconds since the Unix epoch, kept within
// [0, kLatestTick] so that adding any window, debt or wait to one stays inside 64 bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weir/time.h"

namespace weir::algorithms {

__extension__ typedef __int128 Wide;

inline constexpr std::int64_t kLatestTick = std::int64_t{1} << 62;
// Any debt (debt.h) is at most this, so that the sum of a debt and a cost, or of a moment and a debt, fits.
inline constexpr std::int64_t kMaxDebt = (std::int64_t{1} << 62) - 1;

// `value` within [0, most]. One well-predicted branch, because words are nearly always valid.
constexpr std::int64_t bounded(std::int64_t value, std::int64_t most) {
  if (static_cast<std::uint64_t>(value) <= static_cast<std::uint64_t>(most)) [[likely]]
    return value;
  return value < 0 ? 0 : most;
}

constexpr std::int64_t clamp_tick(std::int64_t value) { return bounded(value, kLatestTick); }

struct Division {
  std::int64_t quotient;
  std::int64_t rest;
};

// Divisions are most of what a decision costs, and most fit in 32 bits, where many processors divide far faster.
// Precondition: value >= 0, divisor > 0.
constexpr Division divide(std::int64_t value, std::int64_t divisor) {
  if ((static_cast<std::uint64_t>(value | divisor) >> 32) == 0) {
    const auto narrow = static_cast<std::uint32_t>(value);
    const auto by = static_cast<std::uint32_t>(divisor);
    return {narrow / by, narrow % by};
  }
  return {value / divisor, value % divisor};
}

// Precondition: value >= 0, divisor > 0.
constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  const Division division = divide(value, divisor);
  return division.quotient + (division.rest != 0 ? 1 : 0);
}

// value * factor, or kMaxDebt if that is less. Precondition: neither is negative.
constexpr std::int64_t bounded_multiply(std::int64_t value, std::int64_t factor) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(value, factor, &product)) return kMaxDebt;
  return std::min(product, kMaxDebt);
}

// ceil(value * numerator / denominator). Precondition: 0 <= numerator <= denominator, value >= 0.
constexpr std::int64_t ceil_share(std::int64_t value, std::int64_t numerator, std::int64_t denominator) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(value, numerator, &product)) return ceil_div(product, denominator);
  return static_cast<std::int64_t>((static_cast<Wide>(value) * numerator + denominator - 1) / denominator);
}

// floor(value * factor / divisor). Precondition: the result fits, divisor > 0, none is negative.
constexpr std::int64_t floor_scale(std::int64_t value, std::int64_t factor, std::int64_t divisor) {
  return static_cast<std::int64_t>(static_cast<Wide>(value) * factor / divisor);
}

// When a bucket is asked: the caller's clock, and the bucket's own time, which never runs backward.
struct Moment {
  std::int64_t now = 0;
  std::int64_t time = 0;  // max(now, last)

  Moment(TimePoint asked, std::int64_t last) : now(clamp_tick(micros(asked))), time(std::max(now, clamp_tick(last))) {}

  // How long the caller must wait, by its own clock, until the bucket's time is `tick`.
  Duration until(std::int64_t tick) const { return Duration{std::max<std::int64_t>(0, tick - now)}; }
};

}  // namespace weir::algorithms
