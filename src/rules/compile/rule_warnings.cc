#include "rules/compile/rule_warnings.h"

#include <algorithm>
#include <string>

#include "rules/compile/rule_check.h"
#include "rules/compile/window_lengths.h"

namespace weir::rules {
namespace {

class Warnings {
 public:
  Warnings(const Rule& rule, std::vector<std::string>& lines) : rule_(rule), lines_(lines) {}

  void run(TimePoint now) {
    if (rule_.per.empty() && rule_.descriptor.empty()) {
      add("per", rule_.rollout > 0 && rule_.rollout < 100
                     ? "is empty: one bucket for everybody, which the rollout takes as a whole or not at all"
                     : "is empty: one bucket for everybody");
    }
    if (rule_.rollout == 0) add("rollout", "is 0: the rule applies to nobody; mode: off says so more clearly");
    for (std::size_t i = 0; i < rule_.overrides.size(); ++i) check_override(i, now);
    check_window_lengths();
    const bool is_static = rule_.on_store_failure == FailurePolicy::static_limit;
    if (rule_.static_limit > 0 && !is_static) add("static_limit", "is not used: on_store_failure is not static");
  }

 private:
  void check_window_lengths() {
    WindowLengths lengths;
    bool all = true;
    const auto count = [&](const AllowanceChange& change) {
      if (is_unlimited(rule_, change)) return;
      if (const Result<Allowance> made = make_allowance(changed_spec(rule_, change)); made.ok()) {
        all = lengths.add(made.value()) && all;
      }
    };
    count({});
    for (const Plan& plan : rule_.plans) count(plan.change);
    for (const Override& override : rule_.overrides) count(override.change);
    if (all) return;
    add("window", "plans and overrides have windows of more than " + std::to_string(kMaxWindowLengths) +
                      " lengths: those beyond share a count with the rule's own, and reset each other's");
  }

  void check_override(std::size_t i, TimePoint now) {
    const Override& override = rule_.overrides[i];
    const std::string field = "overrides[" + std::to_string(i) + "]";
    if (override.until && *override.until <= now) {
      add(field + ".until", "has passed: the override does nothing any more");
      return;
    }
    // Without a condition it applies to all, so those behind it on the same level never do.
    const bool last = std::none_of(rule_.overrides.begin() + static_cast<std::ptrdiff_t>(i) + 1, rule_.overrides.end(),
                                   [&](const Override& later) { return later.emergency == override.emergency; });
    if (override.when.empty() && !override.until && !last) {
      add(field, "applies to every request, so the overrides after it never do");
    }
  }

  void add(const std::string& field, const std::string& what) {
    lines_.push_back("rule " + rule_.id + ": " + field + ": " + what);
  }

  const Rule& rule_;
  std::vector<std::string>& lines_;
};

}  // namespace

std::vector<std::string> rule_warnings(const Rules& rules, TimePoint now) {
  std::vector<std::string> lines;
  for (const Rule& rule : rules.rules) Warnings(rule, lines).run(now);
  return lines;
}

}  // namespace weir::rules
