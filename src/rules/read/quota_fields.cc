#include "rules/read/quota_fields.h"

#include "rules/compile/quota_checks.h"
#include "rules/read/field_values.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

constexpr Choice<PeriodUnit> kPeriodUnits[] = {{"hour", PeriodUnit::hour},
                                               {"day", PeriodUnit::day},
                                               {"week", PeriodUnit::week},
                                               {"month", PeriodUnit::month},
                                               {"year", PeriodUnit::year}};
constexpr Choice<int> kDays[] = {{"mon", 1}, {"tue", 2}, {"wed", 3}, {"thu", 4}, {"fri", 5}, {"sat", 6}, {"sun", 7}};
constexpr Choice<bool> kOverages[] = {{"refuse", false}, {"record", true}};
constexpr Choice<Enforcement> kEnforcements[] = {{"leased", Enforcement::leased}, {"strict", Enforcement::strict}};
constexpr Choice<PlanChange> kPlanChanges[] = {
    {"immediate", PlanChange::immediate}, {"next_period", PlanChange::next_period}, {"prorated", PlanChange::prorated}};

}  // namespace

bool is_quota_field(std::string_view name) {
  for (const std::string_view each :
       {"period", "timezone", "anchor_day", "grace", "overage", "enforcement", "notify", "plan_change"}) {
    if (name == each) return true;
  }
  return false;
}

void read_period(const FieldAt& at, Rule& rule) {
  PeriodUnit unit = PeriodUnit::month;
  read_choice(at, kPeriodUnits, unit);
  rule.quota.period = unit;  // also where it cannot be read, so that one mistake is one line
}

std::optional<YamlText> write_period(const Rule& rule) {
  if (!rule.quota.period) return std::nullopt;
  return YamlText::word(period_name(*rule.quota.period));
}

void read_anchor_day(const FieldAt& at, Rule& rule) {
  if (rule.quota.period == PeriodUnit::week) return read_choice(at, kDays, rule.quota.anchor_day.emplace(1));
  at.take(rule.quota.anchor_day, read_whole_number(at.node(), 1, 31));
}

std::optional<YamlText> write_anchor_day(const Rule& rule) {
  const std::optional<int>& day = rule.quota.anchor_day;
  if (!day) return std::nullopt;
  const bool is_weekday = rule.quota.period == PeriodUnit::week && *day >= 1 && *day <= 7;
  return is_weekday ? YamlText::word(weekday_name(*day)) : YamlText::number(*day);
}

void read_share(const FieldAt& at, std::int64_t least, Share& share) {
  const bool percent = at.node().is_scalar() && !at.node().text().empty() && at.node().text().back() == '%';
  if (percent ? at.take(share.amount, read_percent(at.node(), least, 100))
              : at.take(share.amount, read_whole_number(at.node(), least, kMaxUnits))) {
    share.percent = percent;
  }
}

YamlText write_share(const Share& share) {
  return share.percent ? YamlText::text(std::to_string(share.amount) + "%") : YamlText::number(share.amount);
}

void read_overage(const FieldAt& at, Rule& rule) { read_choice(at, kOverages, rule.quota.record_overage); }

std::optional<YamlText> write_overage(const Rule& rule) {
  if (!rule.quota.record_overage) return std::nullopt;
  return write_choice(kOverages, true);
}

void read_enforcement(const FieldAt& at, Rule& rule) { read_choice(at, kEnforcements, rule.quota.enforcement); }

std::optional<YamlText> write_enforcement(const Rule& rule) {
  if (rule.quota.enforcement == Enforcement::leased) return std::nullopt;
  return write_choice(kEnforcements, rule.quota.enforcement);
}

void read_plan_change(const FieldAt& at, Rule& rule) { read_choice(at, kPlanChanges, rule.quota.plan_change); }

std::optional<YamlText> write_plan_change(const Rule& rule) {
  if (rule.quota.plan_change == PlanChange::immediate) return std::nullopt;
  return write_choice(kPlanChanges, rule.quota.plan_change);
}

void read_notify(const FieldAt& at, Rule& rule) {
  rule.quota.notify.clear();
  if (!at.node().is_sequence()) return read_share(at, 1, rule.quota.notify.emplace_back(Share{.amount = 1}));
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    // What cannot be read differs from the others, so that one mistake is one line.
    Share share{.amount = kMaxUnits - static_cast<std::int64_t>(i)};
    read_share(at.item(i), 1, share);
    rule.quota.notify.push_back(share);
  }
}

std::optional<YamlText> write_notify(const Rule& rule) {
  if (rule.quota.notify.empty()) return std::nullopt;
  YamlText list = YamlText::list();
  for (const Share& share : rule.quota.notify) list.add(write_share(share));
  return list;
}

}  // namespace weir::rules
