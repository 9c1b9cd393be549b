// The checks of what makes a rule more than a limit: penalties, challenges, counts of different values, candidates.
#include <algorithm>
#include <string>

#include "rules/compile/fault_list.h"
#include "rules/compile/field_checks.h"

namespace weir::rules {
namespace {

std::string in_seconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + "s";
}

void check_time(FieldPath field, Duration value, Duration least, Duration most, RuleFaults& faults) {
  const bool whole = value % std::chrono::seconds(1) == Duration::zero();
  if (whole && value >= least && value <= most) return;
  faults.add(std::move(field), "is " + std::to_string(value.count() / 1'000) + " ms, expected whole seconds, " +
                                   in_seconds(least) + " to " + in_seconds(most));
}

}  // namespace

void check_on_exceed(const Rule& rule, RuleFaults& faults) {
  if (rule.on_exceed == OnExceed::challenge && rule.kind != ChargeKind::bucket) {
    faults.add({"on_exceed"}, "is challenge, which a concurrency or quota rule cannot ask for; expected deny");
  }
}

void check_penalty(const Rule& rule, RuleFaults& faults) {
  if (!rule.penalty) return;
  const Penalty& penalty = *rule.penalty;
  if (rule.kind != ChargeKind::bucket) {
    faults.add({"penalty"}, "is for rules with an algorithm; a concurrency or quota rule has none");
    return;
  }
  if (rule.max_subjects) {
    faults.add({"penalty"}, "is for each subject, and max_subjects counts some together; expected one of the two");
  }
  faults.check_number({"penalty", "after"}, penalty.after, 1, kMaxPenaltyStrikes);
  faults.check_number({"penalty", "factor"}, penalty.factor, 1, kMaxPenaltyFactor);
  faults.check_number({"penalty", "challenge"}, penalty.challenges, 0, kMaxPenaltySteps);
  check_time({"penalty", "within"}, penalty.within, kMinPenalty, kMaxPenalty, faults);
  check_time({"penalty", "block"}, penalty.block, kMinPenalty, kMaxPenalty, faults);
  check_time({"penalty", "decay"}, penalty.decay, kMinPenalty, kMaxPenalty, faults);
  if (penalty.max != Duration::zero()) {
    check_time({"penalty", "max"}, penalty.max, std::clamp(penalty.block, kMinPenalty, kMaxPenalty), kMaxPenalty,
               faults);
  }
  if (penalty.decay < penalty.within) {
    faults.add({"penalty", "decay"}, "is shorter than within, expected at least " + in_seconds(penalty.within));
  }
  if (!penalty.on_denied && !penalty.on_reported) {
    faults.add({"penalty", "on"}, "is empty, expected denied, reported or both");
  }
}

void check_distinct(const Rule& rule, RuleFaults& faults) {
  if (rule.distinct.empty()) return;
  faults.check_name({"distinct"}, rule.distinct);
  const Algorithm algorithm = rule.allowance.algorithm;
  if (rule.kind != ChargeKind::bucket ||
      (algorithm != Algorithm::fixed_window && algorithm != Algorithm::sliding_log)) {
    faults.add({"distinct"}, "needs the algorithm fixed-window or sliding-log");
  }
  if (std::find(rule.per.begin(), rule.per.end(), rule.distinct) != rule.per.end()) {
    faults.add({"distinct"},
               "is " + in_quotes(rule.distinct) + ", which the rule counts by: each subject has one value");
  }
  const auto check_limit = [&faults](FieldPath field, std::int64_t limit) {
    if (limit > kMaxDistinct) {
      faults.add(std::move(field), "is " + std::to_string(limit) + ", expected at most " +
                                       std::to_string(kMaxDistinct) + " with distinct");
    }
  };
  if (!rule.unlimited) check_limit({"limit"}, rule.allowance.limit);
  for (const Plan& plan : rule.plans) check_limit({"plans", plan.name, "limit"}, plan.change.limit.value_or(0));
  for (std::size_t i = 0; i < rule.overrides.size(); ++i) {
    check_limit({"overrides", FieldStep(i), "limit"}, rule.overrides[i].change.limit.value_or(0));
  }
  const bool other_windows =
      std::any_of(rule.plans.begin(), rule.plans.end(), [](const Plan& plan) { return plan.change.window; }) ||
      std::any_of(rule.overrides.begin(), rule.overrides.end(),
                  [](const Override& each) { return each.change.window; });
  if (other_windows) faults.add({"distinct"}, "needs one window: plans and overrides must not change it");
  if (rule.cost.kind != CostModel::Kind::request) faults.add({"distinct"}, "counts values, and cost does not apply");
  if (rule.count_denied) faults.add({"distinct"}, "counts values, and count_denied does not apply");
  if (rule.estimate) faults.add({"distinct"}, "counts values, and estimate does not apply");
}

void check_candidate(const Rule& rule, RuleFaults& faults) {
  if (!rule.candidate) return;
  if (rule.kind != ChargeKind::bucket) {
    faults.add({"candidate"}, "is for rules with an algorithm; a concurrency or quota rule has none");
    return;
  }
  if (rule.unlimited || rule.candidate->unlimited) {
    faults.add({"candidate"}, "compares two limits, and unlimited is none; expected limit, window, burst or queue");
    return;
  }
  check_change(rule, {"candidate"}, *rule.candidate, faults);
  if (*rule.candidate != AllowanceChange{} && changed_spec(rule, *rule.candidate) == rule.allowance) {
    faults.add({"candidate"}, "has the numbers of the rule itself, expected others");
  }
  if (!rule.distinct.empty()) faults.add({"candidate"}, "does not work together with distinct");
}

// Precondition: it has one.
void check_auto_limit(const Rule& rule, RuleFaults& faults) {
  const AutoLimit& bounds = *rule.auto_limit;
  if (rule.kind != ChargeKind::lease) {
    return faults.add({"limit", "auto"}, "is for concurrency rules; expected a number, or algorithm: concurrency");
  }
  faults.check_number({"limit", "auto", "min"}, bounds.min, 1, kMaxConcurrency);
  faults.check_number({"limit", "auto", "max"}, bounds.max, std::max<std::int64_t>(1, bounds.min), kMaxConcurrency);
  if (rule.unlimited || rule.allowance.limit != bounds.max) {
    faults.add({"limit", "auto"}, "needs its max as the limit of the allowance");
  }
  if (rule.max_subjects) faults.add({"limit", "auto"}, "does not work together with max_subjects");
}

}  // namespace weir::rules
