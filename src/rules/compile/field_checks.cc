#include "rules/compile/field_checks.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/text_template.h"
#include "base/utf8.h"
#include "rules/compile/conditions.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/per_entry.h"
#include "rules/compile/quota_checks.h"
#include "weir/request.h"

namespace weir::rules {
namespace {

// What the timestamps of a rules file can express: the years 1 to 9999.
constexpr TimePoint kFirstTime = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);
constexpr TimePoint kTimesEnd = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);

bool is_text(std::string_view text) { return base::valid_text_prefix(text) == text.size(); }

// C0, DEL and, in UTF-8, C1. Precondition: is_text(text).
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

FieldPath inside(FieldPath field, std::string name) {
  field.emplace_back(std::move(name));
  return field;
}

void add_too_many(RuleFaults& faults, FieldPath field, std::size_t count, std::string_view what, std::size_t most) {
  faults.add(std::move(field),
             "has " + std::to_string(count) + " " + std::string(what) + ", expected at most " + std::to_string(most));
}

}  // namespace

void check_conditions(const FieldPath& field, const std::vector<Condition>& conditions, RuleFaults& faults) {
  if (conditions.size() > kMaxConditions) {
    return add_too_many(faults, field, conditions.size(), "conditions", kMaxConditions);
  }
  for (const Condition& condition : conditions) {
    const FieldPath at = inside(field, condition.attribute);
    faults.check_name(at, condition.attribute);
    if (const Status status = check_condition(condition); !status.ok()) faults.add(at, status.failure().message);
    if (!std::all_of(condition.patterns.begin(), condition.patterns.end(), is_text)) {
      faults.add(at, "is not valid UTF-8 without NUL");
    }
  }
}

void check_change(const Rule& rule, const FieldPath& field, const AllowanceChange& change, RuleFaults& faults,
                  std::string_view expected) {
  const bool numbers = change.limit || change.window || change.burst || change.queue;
  if (change.unlimited && numbers) {
    faults.add(field, "is unlimited and has numbers, expected one or the other");
  } else if (!change.unlimited && !numbers) {
    faults.add(field, "changes nothing, expected " + std::string(expected));
  } else if (!is_unlimited(rule, change)) {
    faults.check_allowance(field, changed_allowance(rule, change));
  }
}

void check_override(const Rule& rule, const FieldPath& field, const Override& override, RuleFaults& faults) {
  check_conditions(inside(field, "when"), override.when, faults);
  const bool only_mode = override.mode && override.change == AllowanceChange();
  if (!only_mode) {
    check_change(rule, field, override.change, faults, "limit, window, burst, queue, unlimited or mode");
  }
  if (override.reason.size() > kMaxReason || !is_text(override.reason)) {
    faults.add(inside(field, "reason"), "is not a text of at most " + std::to_string(kMaxReason) + " bytes");
  }
  if (override.until && (*override.until < kFirstTime || *override.until >= kTimesEnd)) {
    faults.add(inside(field, "until"), "is not in the years 1 to 9999");
  }
}

void RuleFaults::check_number(FieldPath field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  add(std::move(field),
      "is " + std::to_string(value) + ", expected " + std::to_string(least) + " to " + std::to_string(most));
}

void RuleFaults::check_name(FieldPath field, const std::string& name) {
  if (is_attribute_name(name)) return;
  add(std::move(field), "is " + in_quotes(name) + ", expected the name of an attribute, 1 to " +
                            std::to_string(kMaxAttributeName) + " bytes without control characters");
}

void RuleFaults::check_value(FieldPath field, const std::string& value) {
  if (value.size() > kMaxPatternBytes) {
    add(std::move(field), "is longer than " + std::to_string(kMaxPatternBytes) + " bytes");
  } else if (!is_text(value)) {
    add(std::move(field), "is not valid UTF-8 without NUL");
  }
}

// The message names the field that is wrong before a colon.
void RuleFaults::check_allowance(FieldPath field, const Result<Allowance>& allowance) {
  if (allowance.ok()) return;
  const std::string& message = allowance.failure().message;
  if (field.empty()) own_fault_ = message;
  if (!field.empty() && message == own_fault_) return;
  const std::size_t colon = message.find(": ");
  if (colon == std::string::npos) {
    add(std::move(field), message);
  } else {
    field.emplace_back(message.substr(0, colon));
    add(std::move(field), message.substr(colon + 2));
  }
}

void check_id(const Rule& rule, RuleFaults& faults) {
  if (is_rule_id(rule.id)) return;
  faults.add({"id"}, "is " + in_quotes(rule.id) + ", expected 1 to " + std::to_string(kMaxRuleId) +
                         " letters, digits, '.', '_' or '-'");
}

void check_match(const Rule& rule, RuleFaults& faults) { check_conditions({"match"}, rule.match, faults); }

void check_per(const Rule& rule, RuleFaults& faults) {
  if (rule.per.size() > kMaxPer) return add_too_many(faults, {"per"}, rule.per.size(), "attributes", kMaxPer);
  const auto in_descriptor = [&rule](const std::string& name) {
    return rule.descriptor.empty() || std::any_of(rule.descriptor.begin(), rule.descriptor.end(),
                                                  [&](const DescriptorEntry& entry) { return entry.key == name; });
  };
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < rule.per.size(); ++i) {
    const FieldPath field = {"per", FieldStep(i)};
    const std::vector<std::string> names = alternatives_of(rule.per[i]);
    if (names.size() > kMaxAlternatives) {
      add_too_many(faults, field, names.size(), "alternatives", kMaxAlternatives);
      continue;
    }
    if (names.size() > 1 && std::any_of(names.begin(), names.end(), [](const auto& name) { return name.empty(); })) {
      faults.add(field, "is " + in_quotes(rule.per[i]) + ", expected a name on each side of |, as in api_key|ip");
      continue;
    }
    for (const std::string& name : names) {
      faults.check_name(field, name);
      if (!seen.insert(name).second) faults.add(field, "names " + in_quotes(name) + " a second time");
      if (!in_descriptor(name)) faults.add(field, "names " + in_quotes(name) + ", which the descriptor does not have");
    }
  }
}

void check_descriptor(const Rule& rule, RuleFaults& faults) {
  if (rule.descriptor.size() > kMaxAttributes) {
    return add_too_many(faults, {"descriptor"}, rule.descriptor.size(), "entries", kMaxAttributes);
  }
  for (std::size_t i = 0; i < rule.descriptor.size(); ++i) {
    const DescriptorEntry& entry = rule.descriptor[i];
    faults.check_name({"descriptor", FieldStep(i)}, entry.key);
    if (entry.value) faults.check_value({"descriptor", FieldStep(i)}, *entry.value);
  }
}

void check_replaces(const Rule& rule, RuleFaults& faults) {
  if (rule.replaces.size() > kMaxReplaces) {
    add_too_many(faults, {"replaces"}, rule.replaces.size(), "rules", kMaxReplaces);
  }
  if (!rule.replaces.empty() && rule.descriptor.empty()) {
    faults.add({"replaces"}, "is given, expected a descriptor beside it");
  }
}

void check_own_numbers(const Rule& rule, RuleFaults& faults) {
  if (rule.auto_limit) return check_auto_limit(rule, faults);
  if (!rule.unlimited) faults.check_allowance({}, changed_allowance(rule, {}));
}

void check_lease(const Rule& rule, RuleFaults& faults) {
  if (rule.kind == ChargeKind::lease || rule.lease == Duration::zero()) return;
  faults.add({"lease"}, "is given, expected algorithm: concurrency beside it");
}

void check_count_denied(const Rule& rule, RuleFaults& faults) {
  if (rule.count_denied && rule.kind == ChargeKind::lease) {
    faults.add({"count_denied"}, "does not apply to concurrency: a denied request holds nothing");
  }
  if (rule.count_denied && rule.kind == ChargeKind::quota) {
    faults.add({"count_denied"}, "does not apply to quota: what was denied is not billed");
  }
}

void check_cost(const Rule& rule, RuleFaults& faults) {
  const CostModel& cost = rule.cost;
  switch (cost.kind) {
    case CostModel::Kind::request:
      return;
    case CostModel::Kind::fixed:
      return faults.check_number({"cost"}, cost.units, 0, kMaxUnits);
    case CostModel::Kind::attribute:
      return faults.check_name({"cost", "attribute"}, cost.attribute);
    case CostModel::Kind::table:
      break;
  }
  faults.check_name({"cost", "by"}, cost.attribute);
  faults.check_number({"cost", "default"}, cost.units, 0, kMaxUnits);
  if (cost.table.size() > kMaxCostEntries) {
    add_too_many(faults, {"cost"}, cost.table.size(), "values", kMaxCostEntries);
  }
  std::unordered_set<std::string_view> seen;
  for (const auto& [value, units] : cost.table) {
    faults.check_number({"cost", value}, units, 0, kMaxUnits);
    faults.check_value({"cost", value}, value);
    if (!seen.insert(value).second) faults.add({"cost", value}, "is given twice");
  }
}

void check_on_bad_cost(const Rule& rule, RuleFaults& faults) {
  if (rule.on_bad_cost != BadCostPolicy::deny) return;
  const auto too_large = [&rule](const AllowanceChange& change) {
    if (is_unlimited(rule, change)) return false;
    const Result<Allowance> allowance = changed_allowance(rule, change);
    return allowance.ok() && allowance.value().largest_cost() >= kMaxUnits;
  };
  const bool any =
      too_large({}) ||
      std::any_of(rule.plans.begin(), rule.plans.end(), [&](const Plan& plan) { return too_large(plan.change); }) ||
      std::any_of(rule.overrides.begin(), rule.overrides.end(),
                  [&](const Override& override) { return too_large(override.change); });
  if (any)
    faults.add({"on_bad_cost"}, "is deny, expected limits, bursts and queues below " + std::to_string(kMaxUnits));
}

void check_plans(const Rule& rule, RuleFaults& faults) {
  if (rule.plans.size() > kMaxPlans) add_too_many(faults, {"plans"}, rule.plans.size(), "plans", kMaxPlans);
  std::unordered_set<std::string_view> seen;
  for (const Plan& plan : rule.plans) {
    const FieldPath field = {"plans", plan.name};
    if (plan.name.empty()) faults.add({"plans"}, "has a plan without a name");
    faults.check_value(field, plan.name);
    if (!seen.insert(plan.name).second) faults.add(field, "is given twice");
    check_change(rule, field, plan.change, faults);
  }
}

void check_overrides(const Rule& rule, RuleFaults& faults) {
  for (std::size_t i = 0; i < rule.overrides.size(); ++i) {
    check_override(rule, {"overrides", FieldStep(i)}, rule.overrides[i], faults);
  }
}

void check_message(const Rule& rule, RuleFaults& faults) {
  constexpr std::string_view kPlaceholders[] = {"limit", "window", "wait"};
  if (rule.message.size() > kMaxMessage) {
    return faults.add({"message"}, "has " + std::to_string(rule.message.size()) + " bytes, expected at most " +
                                       std::to_string(kMaxMessage));
  }
  if (!is_text(rule.message) || has_control(rule.message)) {
    return faults.add({"message"}, "has a control character or is not valid UTF-8, expected one line of text");
  }
  if (const std::optional<std::string> fault = base::template_fault(rule.message, kPlaceholders)) {
    return faults.add({"message"}, *fault);
  }
  if (rule.kind == ChargeKind::quota && base::has_placeholder(rule.message, "window")) {
    faults.add({"message"}, "tells the window of a quota, which has none, expected only {limit} and {wait}");
  }
  for (const std::string_view name : {"limit", "window"}) {
    if (rule.hidden == Hidden::rule && base::has_placeholder(rule.message, name)) {
      faults.add({"message"}, "tells the " + std::string(name) + " of a rule with hidden: rule, expected only {wait}");
    }
  }
}

void check_on_store_failure(const Rule& rule, RuleFaults& faults) {
  if (!rule.on_store_failure) return;
  const OnStoreFailure& failure = *rule.on_store_failure;
  if (failure.term.has_value() != failure.then.has_value()) {
    faults.add({"on_store_failure"}, failure.term ? "has for without then, expected the policy that follows"
                                                  : "has then without for, expected how long the first policy answers");
  }
  if (failure.term && (*failure.term < kMinPolicyTerm || *failure.term > kMaxPolicyTerm)) {
    faults.add({"on_store_failure", "for"}, "is not in the range from 1s to 365d");
  }
  if (failure.then == failure.policy) {
    faults.add({"on_store_failure", "then"}, "is the first policy itself, expected another");
  }
  if (rule.kind == ChargeKind::quota) return check_quota_policy(rule, faults);
  if (rule.kind != ChargeKind::lease) return;
  for (const FailurePolicy policy : {FailurePolicy::local, FailurePolicy::static_limit}) {
    if (!may_answer(rule, policy)) continue;
    faults.add({"on_store_failure"},
               "is " + std::string(failure_policy_name(policy)) + ", expected allow, deny or degrade for concurrency");
  }
}

void check_static_limit(const Rule& rule, RuleFaults& faults) {
  if (!may_answer(rule, FailurePolicy::static_limit)) return;
  faults.check_number({"static_limit"}, rule.static_limit, 1, kMaxUnits);
}

void check_max_subjects(const Rule& rule, RuleFaults& faults) {
  if (!rule.max_subjects) return;
  faults.check_number({"max_subjects"}, *rule.max_subjects, 1, kMaxSubjects);
  if (rule.per.empty()) faults.add({"max_subjects"}, "the rule has one bucket for all, expected only with per");
}

void check_overdraft(const Rule& rule, RuleFaults& faults) {
  if (!rule.overdraft) return;
  if (rule.kind == ChargeKind::lease) faults.add({"overdraft"}, "does not apply to concurrency: nothing is owed there");
  if (rule.kind == ChargeKind::quota) faults.add({"overdraft"}, "does not apply to quota: use overage");
  faults.check_number({"overdraft"}, *rule.overdraft, 0, kMaxUnits);
}

void check_estimate(const Rule& rule, RuleFaults& faults) {
  if (!rule.estimate) return;
  const Estimate& estimate = *rule.estimate;
  const CostModel::Kind cost = rule.cost.kind;
  if (rule.kind != ChargeKind::bucket) {
    return faults.add({"estimate"}, rule.kind == ChargeKind::lease
                                        ? "does not apply to concurrency: a reservation holds one slot"
                                        : "does not apply to quota: give it to the rule of a rate, or an amount");
  }
  if (cost == CostModel::Kind::fixed || cost == CostModel::Kind::table) {
    return faults.add({"estimate"}, "is given, expected a cost from the request or an attribute beside it");
  }
  if (!estimate.by.empty()) faults.check_name({"estimate", "by"}, estimate.by);
  faults.check_number({"estimate", "quantile"}, estimate.quantile, 1, 100);
  faults.check_number({"estimate", "default"}, estimate.initial, 1, kMaxUnits);
  faults.check_number({"estimate", "max"}, estimate.most, 1, 100);
}

void check_on_expiry(const Rule& rule, RuleFaults& faults) {
  if (rule.on_expiry == ExpiryPolicy::commit && rule.kind == ChargeKind::lease) {
    faults.add({"on_expiry"}, "is commit, expected release for concurrency: an expired lease frees its slot");
  }
}

void check_local_limit(const Rule& rule, RuleFaults& faults) {
  if (!rule.local_limit) return;
  const std::int64_t limit = rule.local_limit->limit;
  faults.check_number({"local_limit", "limit"}, limit, 1, kMaxUnits);
  if (limit > 0 && limit <= kMaxUnits)
    faults.check_allowance({"local_limit"}, make_allowance(local_limit_spec(*rule.local_limit)));
}

}  // namespace weir::rules
