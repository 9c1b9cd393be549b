#include "rules/compile/rule_warnings.h"

#include <algorithm>
#include <string>

#include "base/text_template.h"
#include "rules/compile/conditions.h"
#include "rules/compile/name_warnings.h"
#include "rules/compile/per_entry.h"
#include "rules/compile/window_lengths.h"

namespace weir::rules {
namespace {

class RuleChecks {
 public:
  RuleChecks(const Rules& rules, std::size_t index, RuleWarnings& warnings)
      : rule_(rules.rules[index]), index_(index), warnings_(warnings) {}

  void run(TimePoint now) {
    if (rule_.per.empty() && rule_.descriptor.empty()) {
      add({"per"}, rule_.rollout > 0 && rule_.rollout < 100
                       ? "is empty: one bucket for all requests, which the rollout includes as a whole or not at all"
                       : "is empty: one bucket for all requests");
    }
    check_absent();
    if (rule_.rollout == 0) add({"rollout"}, "is 0: the rule applies to no request; mode: off says so more clearly");
    for (std::size_t i = 0; i < rule_.overrides.size(); ++i) check_override(i, now);
    check_window_lengths();
    check_tolerance();
    if (!rule_.message.empty()) check_message_is_shown();
    const bool is_static = may_answer(rule_, FailurePolicy::static_limit);
    if (rule_.static_limit > 0 && !is_static) add({"static_limit"}, "is not used: on_store_failure is not static");
    if (rule_.on_bad_cost == BadCostPolicy::deny && rule_.cost.kind != CostModel::Kind::attribute) {
      add({"on_bad_cost"}, "is not used: the cost is not taken from an attribute");
    }
  }

 private:
  // A rule about requests without an attribute that also needs it.
  void check_absent() {
    for (const Condition& condition : rule_.match) {
      if (!requires_absent(condition)) continue;
      const std::string& name = condition.attribute;
      const std::string why =
          "no request that the rule matches carries " + name + " (match), so the rule never applies";
      for (std::size_t i = 0; i < rule_.per.size(); ++i) {
        if (is_only(rule_.per[i], name)) add({"per", FieldStep(i)}, why);
      }
      for (const Condition& other : rule_.match) {
        if (other.attribute == name && !accepts_absent(other)) add({"match"}, why);
      }
    }
  }

  // Less than a unit cannot be divided among nodes.
  void check_tolerance() {
    const std::int64_t capacity = rule_.allowance.burst.value_or(rule_.allowance.limit);
    if (rule_.consistency != Consistency::synced || capacity <= 0) return;
    if (rule_.tolerance.value_or(Share{.amount = 5, .percent = true}).of(capacity) > 0) return;
    add({"consistency"}, "is synced with a tolerance of less than one unit, so that the rule is exact");
  }

  void check_message_is_shown() {
    if (rule_.hidden == Hidden::answer) {
      return add({"message"}, "is not shown: with hidden: true no answer names a rule");
    }
    bool limited = false;
    bool zero = false;
    const auto count = [&](const AllowanceChange& change) {
      if (is_unlimited(rule_, change)) return;
      limited = true;
      const Result<Allowance> made = changed_allowance(rule_, change);
      zero = zero || (made.ok() && made.value().limit == 0);
    };
    count({});
    for (const Plan& plan : rule_.plans) count(plan.change);
    for (const Override& override : rule_.overrides) count(override.change);
    if (!limited) return add({"message"}, "is not shown: the rule is unlimited, so it denies nothing");
    if (zero && base::has_placeholder(rule_.message, "wait")) {
      add({"message"}, "is not shown where the limit is 0: it contains {wait}, and no wait helps there");
    }
  }

  void check_window_lengths() {
    WindowLengths lengths;
    bool all = true;
    const auto count = [&](const AllowanceChange& change) {
      if (is_unlimited(rule_, change)) return;
      if (const Result<Allowance> made = changed_allowance(rule_, change); made.ok()) {
        all = lengths.add(made.value()) && all;
      }
    };
    if (rule_.kind != ChargeKind::bucket || (rule_.plans.empty() && rule_.overrides.empty())) return;
    count({});
    for (const Plan& plan : rule_.plans) count(plan.change);
    for (const Override& override : rule_.overrides) count(override.change);
    if (all) return;
    add({"window"}, "plans and overrides have windows of more than " + std::to_string(kMaxWindowLengths) +
                        " lengths: further ones share a count with the rule's own window, and they reset each other");
  }

  void check_override(std::size_t i, TimePoint now) {
    const Override& override = rule_.overrides[i];
    if (override.until && *override.until <= now) {
      add({"overrides", FieldStep(i), "until"}, "has passed: the override no longer applies");
      return;
    }
    // Without a condition it applies to all requests, so those after it on the same level never apply.
    const bool last = std::none_of(rule_.overrides.begin() + static_cast<std::ptrdiff_t>(i) + 1, rule_.overrides.end(),
                                   [&](const Override& later) { return later.emergency == override.emergency; });
    if (override.when.empty() && !override.until && !last) {
      add({"overrides", FieldStep(i)}, "applies to every request, so the overrides after it never apply");
    }
  }

  void add(FieldPath field, std::string what) {
    if (warnings_.kept.size() == RuleWarnings::kMostKept) {
      ++warnings_.left_out;
    } else {
      warnings_.kept.push_back({index_, std::move(field), std::move(what)});
    }
  }

  const Rule& rule_;
  const std::size_t index_;
  RuleWarnings& warnings_;
};

}  // namespace

// Names first: of 100,000 rules that all have the same small problem, none may hide a misspelt name.
RuleWarnings rule_warnings(const Rules& rules, TimePoint now) {
  RuleWarnings warnings;
  for (RuleWarning& warning : name_warnings(rules)) warnings.kept.push_back(std::move(warning));
  for (std::size_t i = 0; i < rules.rules.size(); ++i) RuleChecks(rules, i, warnings).run(now);
  std::stable_sort(warnings.kept.begin(), warnings.kept.end(),
                   [](const RuleWarning& a, const RuleWarning& b) { return a.rule < b.rule; });
  return warnings;
}

// One warning, however many rules: it is the same for each, and a file may have 100,000.
std::optional<RuleWarning> default_policy_warning(const Rules& rules) {
  constexpr std::size_t kMostNamed = 5;
  std::optional<RuleWarning> warning;
  std::string others;
  std::size_t count = 0;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const Rule& rule = rules.rules[i];
    if (rule.on_store_failure || rule.mode == Mode::off || rule.kind == ChargeKind::quota) continue;
    if (!warning) warning = RuleWarning{i, {"on_store_failure"}, ""};
    if (++count > 1 && count <= kMostNamed + 1) others += (others.empty() ? "" : ", ") + rule.id;
  }
  if (!warning) return warning;
  const std::size_t unnamed = count > kMostNamed + 1 ? count - kMostNamed - 1 : 0;
  warning->what = "is not set";
  if (count > 1) warning->what += ", nor for " + others;
  if (unnamed > 0) warning->what += " and " + std::to_string(unnamed) + (unnamed == 1 ? " other rule" : " other rules");
  warning->what +=
      ": the default is allow, so requests pass without being counted while the store does not answer; to choose, set "
      "it in the rule, or in defaults for all";
  return warning;
}

std::string to_line(const Rules& rules, const RuleWarning& warning) {
  return "rule " + rules.rules[warning.rule].id + ": " + to_string(warning.field) + ": " + warning.what;
}

std::string left_out_line(std::size_t count) {
  return "… and " + std::to_string(count) + (count == 1 ? " more warning" : " more warnings");
}

}  // namespace weir::rules
