// Debt: the units that a bucket owes, and how they are repaid. This is the state of token-bucket, gcra and
// leaky-bucket.
//
// A debt is whole units and a rest in 1/rate_ticks of a unit; each microsecond repays rate_units/rate_ticks, which is
// limit/window in lowest terms. Every fractional rate is exact, and nothing drifts.
//
// The words also store the unit of the rest, so that other numbers (a plan, an override, a reload) read the same
// debt: what was used stays used, even if it is more than they allow, and they repay it at their own rate from the last
// change on. A rest is rounded up when it is counted in other ticks, by less than one of them. So whatever the order of
// allowances, at most max(burst) + max(rate) * T is admitted in any time T: each admission adds its cost, and in
// between the debt falls no faster than at the fastest rate.
//
// Costs and capacities are whole, so a cost fits exactly when it fits with the debt rounded up. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/arithmetic.h"
#include "algorithms/bucket.h"
#include "weir/allowance.h"

namespace weir::algorithms {

// Waits are exact up to this (142 years); longer ones are reported as this.
inline constexpr std::int64_t kLongestWait = std::int64_t{1} << 52;

// The head of a bucket that keeps a debt: four numbers in three words. The ticks of the rest fill up the words:
// {ticks bits 0–22, units (41 bits)}, {ticks bits 23–37, rest (49 bits)}, {ticks bits 38–48, time of the last change
// (53 bits: microseconds until the year 2255)}, high bits first.
struct DebtWords {
  static constexpr std::int64_t kMostUnits = (std::int64_t{1} << 41) - 1;
  static constexpr std::int64_t kMostTicks = (std::int64_t{1} << 49) - 1;
  static constexpr std::int64_t kLatest = (std::int64_t{1} << 53) - 1;
  static_assert(kMostUnits > 2 * kMaxUnits + 1, "a full queue and the largest cost must fit");
  static_assert(kMostTicks >= kMaxWindow.count());

  std::int64_t units = 0;
  std::int64_t rest = 0;   // in 1/ticks of a unit
  std::int64_t ticks = 0;  // 0: fresh
  std::int64_t last = 0;   // time of the last change

  static DebtWords read(ConstHead head) {
    const auto a = static_cast<std::uint64_t>(head[0]);
    const auto b = static_cast<std::uint64_t>(head[1]);
    const auto c = static_cast<std::uint64_t>(head[2]);
    return {static_cast<std::int64_t>(a) & kMostUnits, static_cast<std::int64_t>(b) & kMostTicks,
            static_cast<std::int64_t>(a >> 41U | (b >> 49U) << 23U | (c >> 53U) << 38U),
            static_cast<std::int64_t>(c) & kLatest};
  }

  void write(Head head) const {
    const auto wide = static_cast<std::uint64_t>(ticks);
    head[0] = units | static_cast<std::int64_t>(wide << 41U);
    head[1] = rest | static_cast<std::int64_t>((wide >> 23U) << 49U);
    head[2] = last | static_cast<std::int64_t>((wide >> 38U) << 53U);
  }
};

// A bucket's debt at one moment, in the ticks of one allowance.
class Debt {
 public:
  Debt(const Allowance& allowance, ConstHead head, TimePoint now) : Debt(allowance, DebtWords::read(head), now) {}

  const Moment& moment() const { return moment_; }
  bool none() const { return units_ == 0 && rest_ == 0; }
  // In units, rounded up.
  std::int64_t whole() const { return units_ + (rest_ > 0 ? 1 : 0); }

  // In units, rounded down.
  std::int64_t complete_units() const { return units_; }

  // How long, by the caller's clock, until no more than `units` are owed. Precondition: more are owed now.
  Duration until_at_most(const Allowance& allowance, std::int64_t units) const {
    return moment_.until(moment_.time + ticks_to_repay(allowance, units_ - units));
  }
  Duration until_none(const Allowance& allowance) const { return none() ? Duration{0} : until_at_most(allowance, 0); }
  // The same by the bucket's own time.
  Duration repaid_in(const Allowance& allowance) const { return Duration{ticks_to_repay(allowance, units_)}; }

  void add(std::int64_t units) { units_ = std::min(units_ + units, DebtWords::kMostUnits); }
  // Makes it at least `units`.
  void raise_to(std::int64_t units) {
    if (units_ >= units) return;
    units_ = units;
    rest_ = 0;
  }
  void give_back(std::int64_t units) {
    units_ -= units;
    if (units_ < 0) units_ = rest_ = 0;
  }

  void write(const Allowance& allowance, Head head) const {
    DebtWords{units_, rest_, allowance.rate_ticks, moment_.time}.write(head);
  }

  static TimePoint idle_from(const Allowance& allowance, ConstHead head) {
    const DebtWords words = DebtWords::read(head);
    return from_micros(words.last) + Debt(allowance, words, from_micros(words.last)).repaid_in(allowance);
  }

 private:
  Debt(const Allowance& allowance, const DebtWords& words, TimePoint now)
      : moment_(std::min(now, from_micros(DebtWords::kLatest)), words.last), units_(words.units), rest_(words.rest) {
    if (words.ticks != allowance.rate_ticks) [[unlikely]] {
      const Division converted = converted_rest(units_, rest_, words.ticks, allowance.rate_ticks);
      units_ = converted.quotient;
      rest_ = converted.rest;
    }
    repay(allowance, moment_.time - words.last);
  }

  // The rare cases are kept out of line and see no Debt, so that the common ones have the registers for themselves.
  [[gnu::noinline, gnu::cold]] static Division converted_rest(std::int64_t units, std::int64_t rest, std::int64_t from,
                                                              std::int64_t to) {
    const std::int64_t known = std::min(rest, from);
    const std::int64_t converted = known == 0 ? 0 : static_cast<std::int64_t>((Wide{known} * to + from - 1) / from);
    return converted == to ? Division{units + 1, 0} : Division{units, converted};
  }

  void repay(const Allowance& allowance, std::int64_t elapsed) {
    std::int64_t repaid = 0;  // in 1/rate_ticks of a unit
    if (__builtin_mul_overflow(elapsed, allowance.rate_units, &repaid)) [[unlikely]]
      return take_off(allowance, wide_repayment(allowance, elapsed));
    take_off(allowance, repaid < allowance.rate_ticks ? Division{0, repaid} : divide(repaid, allowance.rate_ticks));
  }

  [[gnu::noinline, gnu::cold]] static Division wide_repayment(const Allowance& allowance, std::int64_t elapsed) {
    const Wide wide = Wide{elapsed} * allowance.rate_units;
    const auto units = static_cast<std::int64_t>(std::min<Wide>(wide / allowance.rate_ticks, kMaxDebt));
    return {units, static_cast<std::int64_t>(wide % allowance.rate_ticks)};
  }

  void take_off(const Allowance& allowance, const Division& repaid) {
    units_ -= repaid.quotient;
    rest_ -= repaid.rest;
    if (rest_ < 0) {
      rest_ += allowance.rate_ticks;
      --units_;
    }
    if (units_ < 0) units_ = rest_ = 0;
  }

  // How long the rate takes to repay `units` and the rest, rounded up.
  std::int64_t ticks_to_repay(const Allowance& allowance, std::int64_t units) const {
    std::int64_t debt = 0;
    if (!__builtin_mul_overflow(units, allowance.rate_ticks, &debt) && !__builtin_add_overflow(debt, rest_, &debt))
        [[likely]] {
      // A rate of one unit every so many ticks is so common that its division is worth skipping.
      return std::min(allowance.rate_units == 1 ? debt : ceil_div(debt, allowance.rate_units), kLongestWait);
    }
    return wide_ticks_to_repay(allowance, units, rest_);
  }

  [[gnu::noinline, gnu::cold]] static std::int64_t wide_ticks_to_repay(const Allowance& allowance, std::int64_t units,
                                                                       std::int64_t rest) {
    const Wide wide = Wide{units} * allowance.rate_ticks + rest;
    return static_cast<std::int64_t>(
        std::min<Wide>((wide + allowance.rate_units - 1) / allowance.rate_units, kLongestWait));
  }

  Moment moment_;
  std::int64_t units_;
  std::int64_t rest_;
};

}  // namespace weir::algorithms
