#include "ledger/gate/terms_maker.h"

#include <algorithm>

namespace weir::ledger {
namespace {

PeriodRule period_rule(const Quota& quota) {
  return {quota.period.value_or(PeriodUnit::month), quota.anchor_day.value_or(1)};
}

}  // namespace

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
  terms.key.period = period_label(period_rule(*charge.quota), in.value().number);
  terms.tenant = charge.tenant;
  terms.begins = in.value().begins;
  terms.ends = in.value().ends;
  terms.limit = charge.limit;
  terms.since = decided(terms.key, charge.limit, charge.since > TimePoint{} ? charge.since : since_, wall);
  terms.grace = charge.quota->grace.of(charge.limit);
  terms.record_overage = charge.quota->record_overage;
  terms.thresholds = thresholds_of(*charge.quota, charge.limit);
  return terms;
}

}  // namespace weir::ledger
