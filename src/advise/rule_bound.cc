#include "advise/rule_bound.h"

#include "rules/read/rule_summary.h"

namespace weir::advise {
namespace {

std::string units_text(std::int64_t units) { return std::to_string(units); }

}  // namespace

Bound bound_of(const Allowance& allowance) {
  const std::string limit = units_text(allowance.limit);
  const std::string window = rules::window_text(allowance.window);
  if (allowance.limit == 0) return {"nothing", true};
  switch (allowance.algorithm) {
    case Algorithm::fixed_window:
      return {"at most " + limit + " in each window of " + window + ", and up to " + units_text(2 * allowance.limit) +
                  " in any " + window + " across the boundary of two",
              false};
    case Algorithm::bucketed_window:
      return {"at most " + limit + " in the last " + units_text(allowance.buckets) + " sub-buckets of " +
                  rules::window_text(allowance.window / allowance.buckets) + "; in any " + window +
                  " also what the oldest of them admitted",
              false};
    case Algorithm::sliding_log:
      return {"exactly " + limit + " in any " + window, true};
    case Algorithm::sliding_counter:
      return {"about " + limit + " in any " + window +
                  ": the window before is assumed evenly spread, so an adversary can reach almost " +
                  units_text(2 * allowance.limit),
              false};
    case Algorithm::token_bucket:
    case Algorithm::gcra:
      return {"at most " + units_text(allowance.burst) + " at once, and in any time T that many plus " + limit +
                  " × T / " + window,
              true};
    case Algorithm::leaky_bucket:
      return {limit + " per " + window + ", evenly; up to " + units_text(allowance.queue + 1) + " wait their turn",
              true};
  }
  return {};
}

Bound bound_of_lease(const Allowance& allowance) {
  return {"at most " + units_text(allowance.limit) +
              " held at a time; one that is neither renewed nor released is free again after " +
              rules::window_text(allowance.window),
          true};
}

}  // namespace weir::advise
