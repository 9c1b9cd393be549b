#include "rules/compile/quota_checks.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/time_zone.h"
#include "rules/compile/fault_list.h"

namespace weir::rules {
namespace {

constexpr std::array<std::string_view, 5> kPeriods = {"hour", "day", "week", "month", "year"};
constexpr std::array<std::string_view, 7> kWeekdays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr std::string_view kOnlyQuota = "is given, expected algorithm: quota beside it";

bool is_quota(const Rule& rule) { return rule.kind == ChargeKind::quota; }

void only_with_quota(const Rule& rule, std::string_view field, bool given, RuleFaults& faults) {
  if (given && !is_quota(rule)) faults.add({std::string(field)}, std::string(kOnlyQuota));
}


}  // namespace

void check_share(FieldPath field, const Share& share, std::int64_t least, RuleFaults& faults) {
  if (share.percent && (share.amount < least || share.amount > 100)) {
    faults.add(std::move(field),
               "is " + std::to_string(share.amount) + "%, expected " + std::to_string(least) + "% to 100%");
  } else if (!share.percent) {
    faults.check_number(std::move(field), share.amount, least, kMaxUnits);
  }
}

std::string_view period_name(PeriodUnit unit) { return kPeriods[static_cast<std::size_t>(unit)]; }
std::string_view weekday_name(int day) { return kWeekdays[static_cast<std::size_t>(day - 1)]; }

void check_period(const Rule& rule, RuleFaults& faults) {
  only_with_quota(rule, "period", rule.quota.period.has_value(), faults);
  if (!is_quota(rule)) return;
  if (!rule.quota.period && !rule.unlimited)
    faults.add({"period"}, "is missing, expected hour, day, week, month or year");
  if (rule.local_limit) faults.add({"local_limit"}, "does not apply to quota; use another rule for a rate");
  if (rule.max_subjects) faults.add({"max_subjects"}, "does not apply to quota: every account is kept");
}

void check_timezone(const Rule& rule, RuleFaults& faults) {
  const std::string& zone = rule.quota.timezone;
  only_with_quota(rule, "timezone", !zone.empty(), faults);
  if (!is_quota(rule) || zone.empty() || zone == kTenantZone) return;
  const auto loaded = base::TimeZone::load(zone);
  if (!loaded.ok()) faults.add({"timezone"}, loaded.failure().message);
}

void check_anchor_day(const Rule& rule, RuleFaults& faults) {
  const std::optional<int>& day = rule.quota.anchor_day;
  only_with_quota(rule, "anchor_day", day.has_value(), faults);
  if (!is_quota(rule) || !day || !rule.quota.period) return;
  switch (*rule.quota.period) {
    case PeriodUnit::month:
      return faults.check_number({"anchor_day"}, *day, 1, 31);
    case PeriodUnit::week:
      if (*day < 1 || *day > 7) faults.add({"anchor_day"}, "is not a day of the week, expected mon to sun");
      return;
    default:
      faults.add({"anchor_day"}, "is given with period: " + std::string(period_name(*rule.quota.period)) +
                                     ", expected only with month or week");
  }
}

void check_grace(const Rule& rule, RuleFaults& faults) {
  only_with_quota(rule, "grace", rule.quota.grace != Share{}, faults);
  if (is_quota(rule)) check_share({"grace"}, rule.quota.grace, 0, faults);
}

void check_overage(const Rule& rule, RuleFaults& faults) {
  only_with_quota(rule, "overage", rule.quota.record_overage, faults);
}

void check_plan_change(const Rule& rule, RuleFaults& faults) {
  only_with_quota(rule, "plan_change", rule.quota.plan_change != PlanChange::immediate, faults);
}

void check_enforcement(const Rule& rule, RuleFaults& faults) {
  only_with_quota(rule, "enforcement", rule.quota.enforcement != Enforcement::leased, faults);
}

void check_notify(const Rule& rule, RuleFaults& faults) {
  const std::vector<Share>& notify = rule.quota.notify;
  only_with_quota(rule, "notify", !notify.empty(), faults);
  if (!is_quota(rule)) return;
  if (notify.size() > kMaxNotify) {
    return faults.add({"notify"}, "has " + std::to_string(notify.size()) + " thresholds, expected at most " +
                                      std::to_string(kMaxNotify));
  }
  for (std::size_t i = 0; i < notify.size(); ++i) {
    check_share({"notify", FieldStep(i)}, notify[i], 1, faults);
    if (std::find(notify.begin(), notify.begin() + static_cast<std::ptrdiff_t>(i), notify[i]) !=
        notify.begin() + static_cast<std::ptrdiff_t>(i)) {
      faults.add({"notify", FieldStep(i)}, "is given twice");
    }
  }
}

void check_quota_policy(const Rule& rule, RuleFaults& faults) {
  const bool strict = rule.quota.enforcement == Enforcement::strict;
  if (strict && failure_policy_of(rule) != OnStoreFailure(FailurePolicy::deny)) {
    return faults.add({"on_store_failure"},
                      "is not deny, expected deny with enforcement: strict: it never admits what is not recorded");
  }
  for (const FailurePolicy policy : {FailurePolicy::local, FailurePolicy::static_limit}) {
    if (!may_answer(rule, policy)) continue;
    faults.add({"on_store_failure"},
               "is " + std::string(failure_policy_name(policy)) + ", expected allow, deny or degrade for quota");
  }
}

}  // namespace weir::rules
