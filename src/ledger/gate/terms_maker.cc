#include "ledger/gate/terms_maker.h"

#include <algorithm>

namespace weir::ledger {
namespace {

PeriodRule period_rule(const Quota& quota) {
  return {quota.period.value_or(PeriodUnit::month), quota.anchor_day.value_or(1)};
}

// The rule's limit for a plan; below 0: unlimited.
std::int64_t limit_of_plan(const QuotaCharge& charge, const std::string& plan) {
  for (const Plan& each : charge.plans) {
    if (each.name != plan) continue;
    return each.change.unlimited ? -1 : each.change.limit.value_or(charge.own_limit);
  }
  return charge.own_limit;
}

const std::string& plan_at(const TenantDirectory::Plans& plans, TimePoint time) {
  static const std::string kNone;
  const std::string* found = &kNone;
  for (const TenantDirectory::PlanFrom& step : plans.steps) {
    if (step.from <= time) found = &step.plan;
  }
  return *found;
}

// Each limit for its part of the period, rounded down; changes that are to come do not count yet. Below 0: one of them
// is unlimited.
std::int64_t prorated(const QuotaCharge& charge, const TenantDirectory::Plans& plans, const Period& period,
                      TimePoint wall) {
  __extension__ using Wide = __int128;
  Wide sum = 0;
  TimePoint from = period.begins;
  std::int64_t limit = limit_of_plan(charge, plan_at(plans, period.begins));
  const auto add_until = [&](TimePoint until) {
    sum += static_cast<Wide>(limit) * (until - from).count();
    from = until;
  };
  for (const TenantDirectory::PlanFrom& step : plans.steps) {
    if (step.from <= period.begins || step.from >= period.ends || step.from > wall) continue;
    if (limit < 0) return -1;
    add_until(step.from);
    limit = limit_of_plan(charge, step.plan);
  }
  if (limit < 0) return -1;
  add_until(period.ends);
  return static_cast<std::int64_t>(sum / (period.ends - period.begins).count());
}

}  // namespace

TermsMaker::PlannedLimit TermsMaker::limit_in(const QuotaCharge& charge, const Period& period, TimePoint wall) const {
  PlannedLimit planned{charge.limit, TimePoint{}};
  if (charge.overridden || charge.plans.empty() || tenants_ == nullptr) return planned;
  const TenantDirectory::Plans plans = tenants_->plans_of(charge.tenant);
  if (plans.steps.empty() || limit_of_plan(charge, plan_at(plans, wall)) != charge.limit) return planned;
  planned.written = plans.written;
  for (const TenantDirectory::PlanFrom& step : plans.steps) {
    if (step.from <= wall) planned.written = std::max(planned.written, step.from);
  }
  std::int64_t limit = charge.limit;
  if (charge.quota->plan_change == PlanChange::next_period)
    limit = limit_of_plan(charge, plan_at(plans, period.begins));
  if (charge.quota->plan_change == PlanChange::prorated) limit = prorated(charge, plans, period, wall);
  if (limit >= 0) planned.limit = limit;
  return planned;
}

std::vector<std::int64_t> thresholds_of(const Quota& quota, std::int64_t limit) {
  std::vector<std::int64_t> units;
  for (const Share& share : quota.notify) units.push_back(std::max<std::int64_t>(share.of(limit), 1));
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

Result<std::shared_ptr<const Calendar>> TermsMaker::calendar(const Quota& quota, const std::string& tenant) {
  std::string zone = quota.timezone;
  if (zone == kTenantZone) zone = tenants_ == nullptr ? "" : tenants_->zone_of(tenant);
  if (zone.empty()) zone = "UTC";
  const PeriodRule rule = period_rule(quota);
  const CalendarKey key(rule.unit, rule.anchor_day, zone);
  const std::lock_guard lock(mutex_);
  if (const auto found = calendars_.find(key); found != calendars_.end()) return found->second;
  const auto loaded = zone == "UTC" ? base::TimeZone::utc() : nullptr;
  std::shared_ptr<const base::TimeZone> of = loaded;
  if (of == nullptr) {
    Result<std::shared_ptr<const base::TimeZone>> read = base::TimeZone::load(zone);
    if (!read.ok()) return read.failure();
    of = read.value();
  }
  Result<Calendar> made = Calendar::make(rule, of);
  if (!made.ok()) return made.failure();
  auto kept = std::make_shared<const Calendar>(std::move(made).value());
  calendars_.emplace(key, kept);
  return std::shared_ptr<const Calendar>(kept);
}

Result<Period> TermsMaker::period(const Quota& quota, const std::string& tenant, TimePoint wall) {
  if (!Calendar::covers(wall)) return Failure{Code::invalid_argument, "a time outside the calendar"};
  const auto of = calendar(quota, tenant);
  if (!of.ok()) return of.failure();
  return of.value()->at(wall);
}

std::optional<Terms> TermsMaker::after_close(const Quota& quota, const Account& closed, TimePoint wall) {
  const Result<Period> in = period(quota, closed.tenant, wall);
  if (!in.ok() || in.value().begins < closed.ends) return std::nullopt;
  return Terms{
      .key = {closed.key.rule, closed.key.subject, period_label(period_rule(quota), in.value())},
      .tenant = closed.tenant,
      .begins = in.value().begins,
      .ends = in.value().ends,
      .limit = closed.limit,
      .since = TimePoint(Duration(1)),
      .grace = closed.grace,
      .record_overage = closed.record_overage,
      .thresholds = closed.thresholds,
  };
}

TimePoint TermsMaker::decided(const AccountKey& key, std::int64_t limit, TimePoint by_rules, TimePoint wall) {
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMostSeen) seen_.clear();
  const auto [found, added] = seen_.try_emplace(key, Seen{limit, by_rules});
  Seen& seen = found->second;
  if (!added && seen.limit != limit) seen = {limit, std::max(wall, seen.since + Duration(1))};
  seen.since = std::max(seen.since, by_rules);
  return seen.since;
}

Result<Terms> TermsMaker::make(const QuotaCharge& charge, TimePoint wall) {
  const Result<Period> in = period(*charge.quota, charge.tenant, wall);
  if (!in.ok()) return in.failure();
  Terms terms;
  terms.key.rule = charge.rule;
  terms.key.subject = charge.subject;
  terms.key.period = period_label(period_rule(*charge.quota), in.value());
  terms.tenant = charge.tenant;
  terms.begins = in.value().begins;
  terms.ends = in.value().ends;
  const PlannedLimit planned = limit_in(charge, in.value(), wall);
  terms.limit = planned.limit;
  const TimePoint by_rules = std::max(charge.since > TimePoint{} ? charge.since : since_, planned.written);
  terms.since = decided(terms.key, terms.limit, by_rules, wall);
  terms.grace = charge.quota->grace.of(terms.limit);
  terms.record_overage = charge.quota->record_overage;
  terms.thresholds = thresholds_of(*charge.quota, terms.limit);
  return terms;
}

}  // namespace weir::ledger
