#include "rules/compile/explanation.h"

#include <algorithm>

#include "rules/compile/fault_list.h"
#include "rules/compile/quota_checks.h"
#include "rules/compile/rollout.h"
#include "rules/compile/rule_set_matcher.h"

namespace weir::rules {
namespace {

std::string name_of_choice(const Rule& rule, const AllowanceChoice::Chosen& chosen) {
  using Source = AllowanceChoice::Chosen::Source;
  if (chosen.source == Source::rule) return "rule";
  if (chosen.source == Source::plan) return "plan " + rule.plans[chosen.index].name;
  const Override& override = rule.overrides[chosen.index];
  std::string name = override.emergency ? "emergency override #" : "override #";
  name += std::to_string(chosen.index + 1);
  if (!override.reason.empty()) name += " (" + override.reason + ")";
  return name;
}

std::string id_of_choice(const Rule& rule, const AllowanceChoice::Chosen& chosen) {
  if (chosen.use != nullptr) return chosen.use->id();
  if (chosen.source == AllowanceChoice::Chosen::Source::override) return file_override_id(rule, chosen.index);
  return {};
}

AllowanceSource source_of_choice(const Rule& rule, const AllowanceChoice::Chosen& chosen) {
  using Source = AllowanceChoice::Chosen::Source;
  if (chosen.source == Source::rule) return AllowanceSource::rule;
  if (chosen.source == Source::plan) return AllowanceSource::plan;
  return rule.overrides[chosen.index].emergency ? AllowanceSource::emergency : AllowanceSource::override;
}

// "a calendar month in Europe/Berlin from day 15, leased"
std::string quota_note(const Quota& quota) {
  const PeriodUnit unit = quota.period.value_or(PeriodUnit::month);
  std::string note = "a calendar " + std::string(period_name(unit)) + " in ";
  if (quota.timezone.empty()) {
    note += "UTC";
  } else {
    note += quota.timezone == kTenantZone ? "the tenant's zone" : quota.timezone;
  }
  if (quota.anchor_day && unit == PeriodUnit::week) note += " from " + std::string(weekday_name(*quota.anchor_day));
  if (quota.anchor_day && unit == PeriodUnit::month) note += " from day " + std::to_string(*quota.anchor_day);
  return note + (quota.enforcement == Enforcement::strict ? ", strict" : ", leased");
}

}  // namespace

std::string file_override_id(const Rule& rule, std::size_t index) {
  std::size_t number = 1;
  for (std::size_t i = 0; i < index; ++i) number += rule.overrides[i].use == nullptr ? 1 : 0;
  return "file:" + rule.id + ":" + std::to_string(number);
}

Explanation RuleSet::explain(const Request& request, TimePoint now) const {
  ResolvedNames names;
  const RequestView view = matcher_->resolve(request, names);
  Explanation explanation;
  explanation.rules.reserve(rules_.size());
  for (std::size_t i = 0; i < rules_.size(); ++i) explanation.rules.push_back(matcher_->explain(i, view, now));
  return explanation;
}

// "api_key or ip"
std::string RuleSet::Matcher::joined_names(const std::vector<NameId>& names) const {
  std::vector<std::string_view> texts;
  for (const NameId name : names) texts.push_back(names_.name_of(name));
  return joined_choices(texts);
}

RuleExplanation RuleSet::Matcher::explain(std::size_t index, const RequestView& view, TimePoint now) const {
  const CompiledRule& rule = rules_[index];
  const Parts& parts = parts_[index];
  RuleExplanation explanation;
  explanation.rule = rule.name.id;
  explanation.mode = rule.mode;
  const auto no = [&explanation](std::string why) {
    explanation.why_not = std::move(why);
    return explanation;
  };
  MatchIssues issues;
  const Choice choice = choose(parts, rule, view, now, issues);
  explanation.mode = choice.match.mode;
  if (explanation.mode == Mode::off) return no("mode: off");
  if (!rule.source.descriptor.empty() && descriptors_.find(view.request.sent()) != index) {
    return no("descriptor: the request's attributes, in their order, do not lead to this rule");
  }
  for (const CompiledCondition& condition : parts.conditions) {
    if (condition.holds(view)) continue;
    const std::string name(names_.name_of(condition.name()));
    if (condition.requires_absent()) return no("match: the request has " + name + ", expected none");
    return no(view.first(condition.name()) == nullptr ? "match: the request has no " + name
                                                      : "match: " + name + " has none of the expected values");
  }
  for (const NameId name : rule.per) {
    if (view.first(name) == nullptr) return no("per: the request has no " + std::string(names_.name_of(name)));
  }
  for (const std::vector<NameId>& names : rule.alternatives) {
    const auto carried = std::find_if(names.begin(), names.end(), [&](NameId name) { return view.first(name); });
    if (carried == names.end()) return no("per: the request has no " + joined_names(names));
    explanation.counted_by.emplace_back(names_.name_of(*carried));
  }
  for (const NameId name : rule.per) explanation.counted_by.emplace_back(names_.name_of(name));
  if (parts.rollout < 100 && rollout_place(rule, view) >= parts.rollout) {
    return no("rollout: the subject is not among the first " + std::to_string(parts.rollout) + " percent");
  }
  explanation.applies = true;
  explanation.source = source_of_choice(rule.source, choice.chosen);
  explanation.override_id = id_of_choice(rule.source, choice.chosen);
  explanation.chosen = name_of_choice(rule.source, choice.chosen);
  if (choice.match.allowance != nullptr) explanation.allowance = *choice.match.allowance;
  explanation.kind = rule.source.kind;
  explanation.cost = choice.match.cost;
  if (rule.source.kind == ChargeKind::quota) explanation.notes.push_back(quota_note(rule.source.quota));
  if (rule.slices && explanation.allowance && rule.slices->consistency == Consistency::synced) {
    explanation.tolerance = rule.slices->tolerated(explanation.allowance->largest_cost());
  }
  if (issues.has(MatchIssue::unknown_plan)) explanation.notes.push_back("the rule has no such plan");
  if (issues.has(MatchIssue::bad_cost)) {
    explanation.notes.push_back(
        rule.source.cost.attribute + " is not a whole number from 0 to " + std::to_string(kMaxUnits) +
        (rule.source.on_bad_cost == BadCostPolicy::deny ? ": denied" : ": the request's own cost"));
  }
  return explanation;
}

}  // namespace weir::rules
