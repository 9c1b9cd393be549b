#include "frontends/render/quota_time.h"

#include <algorithm>

namespace weir::render {
namespace {

__extension__ typedef __int128 Wide;

// units · window / limit, rounded down: how long the rate takes to give as much. The product has up to 95 bits.
std::int64_t ticks_for(const RuleOutcome& rule, std::int64_t units) {
  return static_cast<std::int64_t>(static_cast<Wide>(units) * rule.window.count() / rule.limit);
}

// What is owed when one more whole unit is there is what is missing then from a full bucket; the rest of the way to
// full comes behind it. Holds as well for a bucket that owes more than it can hold.
Duration until_next_unit(const RuleOutcome& rule) {
  const std::int64_t missing_then = std::max<std::int64_t>(0, rule.capacity - rule.remaining - 1);
  return rule.reset_after - Duration(ticks_for(rule, missing_then));
}

// The count of this window is forgotten one window behind its end, and begins to shrink at its end: one unit of `used`
// takes window / used. If the window before counts for anything, that has melted by then.
Duration until_melted(const RuleOutcome& rule) {
  const std::int64_t used = rule.limit - rule.remaining;
  const bool counts_now = rule.reset_after > rule.window && rule.reset_after <= 2 * rule.window;
  if (!counts_now || used <= 0) return rule.reset_after;
  const std::int64_t one_unit = (rule.window.count() + used - 1) / used;
  return rule.reset_after - rule.window + Duration(one_unit);
}

Duration by_algorithm(const RuleOutcome& rule) {
  if (rule.limit <= 0 || !rule.algorithm) return rule.reset_after;
  switch (*rule.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::gcra:
    case Algorithm::leaky_bucket:
      return until_next_unit(rule);
    case Algorithm::sliding_counter:
      return until_melted(rule);
    case Algorithm::fixed_window:
    case Algorithm::bucketed_window:
    case Algorithm::sliding_log:
      break;
  }
  return rule.reset_after;
}

}  // namespace

Duration time_to_more_quota(const RuleOutcome& rule) {
  if (!rule.allowed && rule.retry_after > Duration(0)) return rule.retry_after;
  // A failure policy counts by numbers of its own.
  if (rule.store_failed || rule.reset_after <= Duration(0)) return rule.reset_after;
  return std::clamp(by_algorithm(rule), Duration(1), rule.reset_after);
}

}  // namespace weir::render
