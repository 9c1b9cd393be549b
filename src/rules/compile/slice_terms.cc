#include "rules/compile/slice_terms.h"

#include <algorithm>
#include <limits>

namespace weir::rules {
namespace {

__extension__ typedef __int128 WideUnits;

bool refills(Algorithm algorithm) { return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra; }

// A bucket may be charged under several allowances, and a slice drawn under any of them. Whatever is spent of it must
// have been paid for by the fastest of their rates, and the smallest capacity must have room for that.
class AllTogether {
 public:
  void add(const Allowance& allowance) {
    if (allowance.limit == 0) return;
    any_ = true;
    window_ = std::min(window_, allowance.window);
    smallest_ = std::min(smallest_, allowance.largest_cost());
    if (WideUnits{allowance.rate_units} * ticks_ <= WideUnits{units_} * allowance.rate_ticks) return;
    units_ = allowance.rate_units;
    ticks_ = allowance.rate_ticks;
  }

  bool any() const { return any_; }
  // A tenth of the time in which the smallest capacity is refilled at the fastest rate.
  Duration refill_share() const {
    const WideUnits time = WideUnits{smallest_} * ticks_ / (WideUnits{units_} * 10);
    return Duration{static_cast<std::int64_t>(std::min<WideUnits>(time, kLongestSlice.count()))};
  }
  Duration window_share() const { return std::min(window_ / 10, kLongestSlice); }
  // What the fastest rate refills in a time, rounded up.
  std::int64_t refilled_in(Duration time) const {
    return static_cast<std::int64_t>((WideUnits{units_} * time.count() + ticks_ - 1) / ticks_);
  }

 private:
  bool any_ = false;
  Duration window_ = kMaxWindow;
  std::int64_t smallest_ = kMaxUnits;
  std::int64_t units_ = 0;
  std::int64_t ticks_ = 1;
};

}  // namespace

std::optional<SliceTerms> slice_terms(const Rule& rule, const AllowanceChoice& choice, std::uint64_t version) {
  if (rule.consistency == Consistency::exact && rule.hot_keys != HotKeys::lease) return std::nullopt;
  AllTogether all;
  choice.for_each([&all](const Allowance& allowance) { all.add(allowance); });
  if (!all.any()) return std::nullopt;
  SliceTerms terms;
  terms.consistency = rule.consistency;
  terms.version = version;
  if (rule.consistency == Consistency::synced) {
    const Share tolerance = tolerance_of(rule);
    terms.tolerance = tolerance.amount;
    terms.in_percent = tolerance.percent;
    terms.sync_interval = rule.sync_interval.value_or(kSyncInterval);
    return terms;
  }
  const bool of_debts = refills(rule.allowance.algorithm);
  terms.life = of_debts ? all.refill_share() : all.window_share();
  if (of_debts) terms.floor = all.refilled_in(terms.life);
  if (terms.life < kShortestSlice) return std::nullopt;
  return terms;
}

}  // namespace weir::rules
