#include "advise/rule_review.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/ascii.h"
#include "rules/compile/conditions.h"
#include "rules/compile/per_entry.h"
#include "rules/read/rule_summary.h"

namespace weir::advise {
namespace {

constexpr std::int64_t kLongLog = 1'000;
constexpr Duration kAboutADay = std::chrono::hours(20);

constexpr std::array<std::string_view, 8> kLogInWords = {"login",    "log-in", "signin", "sign-in",
                                                         "password", "otp",    "auth",   "session.create"};
// Values that are secrets or identify people, and that identity does not hash by itself.
constexpr std::array<std::string_view, 9> kRawIdentities = {
    "authorization", "cookie", "token", "access_token", "password", "email", "phone", "ssn", "jwt"};
// Values that a caller invents as often as it likes.
constexpr std::array<std::string_view, 9> kInvented = {"path",    "url",    "uri",     "user_agent", "referer",
                                                       "session", "device", "account", "query"};

std::string folded(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c == '_' ? '-' : base::lower(c); });
  return out;
}

template <typename List>
bool is_one_of(std::string_view name, const List& list) {
  const std::string wanted = folded(name);
  return std::any_of(list.begin(), list.end(), [&](std::string_view each) { return folded(each) == wanted; });
}

bool mentions_log_in(std::string_view text) {
  const std::string lower = folded(text);
  return std::any_of(kLogInWords.begin(), kLogInWords.end(),
                     [&](std::string_view word) { return lower.find(folded(word)) != std::string::npos; });
}

bool is_about_log_in(const Rule& rule) {
  if (mentions_log_in(rule.id)) return true;
  for (const Condition& condition : rule.match) {
    for (const std::string& pattern : condition.patterns) {
      if (mentions_log_in(pattern)) return true;
    }
  }
  return false;
}

// The first name in `per` that is in the list.
template <typename List>
std::optional<std::string> counted_by_one_of(const Rule& rule, const List& list) {
  std::optional<std::string> found;
  for (const std::string& entry : rule.per) {
    rules::for_each_name(entry, [&](std::string_view name) {
      if (!found && is_one_of(name, list)) found = std::string(name);
    });
  }
  return found;
}

// Why no request can ever be counted by it, as far as the rule alone tells.
std::optional<std::string> never_matches(const Rule& rule) {
  if (rule.mode == Mode::off) return "its mode is off";
  if (rule.rollout == 0) return "its rollout is 0";
  for (const Condition& condition : rule.match) {
    if (condition.patterns.empty()) return "match: " + condition.attribute + " has no value";
    if (!rules::requires_absent(condition)) continue;
    for (const std::string& entry : rule.per) {
      if (rules::is_only(entry, condition.attribute)) {
        return "it matches requests without " + condition.attribute + " and counts by it";
      }
    }
  }
  return std::nullopt;
}

class Review {
 public:
  explicit Review(const Rules& rules) : rules_(rules) {}

  std::vector<Finding> run() {
    check_all();
    for (const Rule& rule : rules_.rules) check(rule);
    return std::move(findings_);
  }

 private:
  void add(const Rule* rule, std::string pattern, std::string text) {
    findings_.push_back({rule == nullptr ? "" : rule->id, std::move(pattern), std::move(text)});
  }

  void check_all() {
    const auto is_counted = [](const Rule& rule) { return !rule.unlimited && rule.mode != Mode::off; };
    const auto counted = std::count_if(rules_.rules.begin(), rules_.rules.end(), is_counted);
    if (counted != 1) return;
    const Rule& only = *std::find_if(rules_.rules.begin(), rules_.rules.end(), is_counted);
    if (!only.match.empty() || !only.descriptor.empty() || only.cost.kind != CostModel::Kind::request) return;
    add(nullptr, "one-limit-for-everything",
        "one rule counts every request alike: an export and a health check cost the same. Add rules that match "
        "expensive "
        "actions, or a cost table (cost: {by: action, …})");
  }

  void check(const Rule& rule) {
    if (const std::optional<std::string> why = never_matches(rule)) {
      add(&rule, "never-matches", "no request is ever counted: " + *why);
      return;
    }
    if (rule.unlimited) return;
    check_log_in(rule);
    if (!rule.on_store_failure) {
      add(&rule, "no-failure-policy",
          "does not say what happens when the store does not answer, so requests are allowed; write on_store_failure: "
          "allow, deny, local or static");
    }
    check_subjects(rule);
    check_numbers(rule);
  }

  void check_log_in(const Rule& rule) {
    if (!is_about_log_in(rule) || rule.kind != ChargeKind::bucket) return;
    const Algorithm algorithm = rule.allowance.algorithm;
    if (algorithm == Algorithm::fixed_window || algorithm == Algorithm::sliding_counter) {
      add(&rule, "fixed-window-on-log-in",
          "counts log-ins with " + std::string(algorithm_name(algorithm)) +
              ", which lets up to twice the limit pass around the boundary of "
              "two windows; use sliding-log, which is exact");
    }
    if (rule.on_store_failure && rule.on_store_failure->policy == FailurePolicy::allow) {
      add(&rule, "open-log-in",
          "allows every attempt while the store is unavailable, which an attacker may exploit; use on_store_failure: "
          "deny or local");
    }
  }

  void check_subjects(const Rule& rule) {
    if (const std::optional<std::string> raw = counted_by_one_of(rule, kRawIdentities)) {
      add(&rule, "raw-identity",
          "counts by " + *raw +
              ", which is a secret or personal data; list it in identity.hashed, or count by api_key, which is always "
              "hashed");
    }
    const std::optional<std::string> invented = counted_by_one_of(rule, kInvented);
    if (invented && !rule.max_subjects) {
      add(&rule, "unbounded-subjects",
          "counts by " + *invented +
              ", of which a caller can invent any number, each with a bucket of its own and the full limit; set "
              "max_subjects, and add a rule that counts by ip");
    }
  }

  void check_numbers(const Rule& rule) {
    if (rule.kind != ChargeKind::bucket) return;
    if (rule.allowance.algorithm == Algorithm::sliding_log && rule.allowance.limit > kLongLog) {
      add(&rule, "long-log",
          "keeps up to " + std::to_string(rule.allowance.limit) +
              " entries for each subject, 16 bytes each; above 1,000 use bucketed-window or gcra");
    }
    if (rule.allowance.window >= kAboutADay) {
      add(&rule, "long-window",
          "counts over " + rules::window_text(rule.allowance.window) +
              " in a store that may forget: a restart without a snapshot, or a Redis that is flushed, gives everyone "
              "the full limit again. If it is "
              "paid for, use a quota, which is kept in the database");
    }
    if (rule.cost.kind == CostModel::Kind::attribute && rule.on_bad_cost == BadCostPolicy::use_default) {
      add(&rule, "caller-names-cost",
          "takes the cost from " + rule.cost.attribute +
              ", and a value that is not a number costs what the request says; write on_bad_cost: deny, and take the "
              "attribute from a source that callers cannot forge");
    }
    for (const Override& override : rule.overrides) {
      if (!override.until) {
        add(&rule, "endless-override",
            "has an override without until, which is easily forgotten; give it an end, or make it a plan");
        break;
      }
    }
  }

  const Rules& rules_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> review_rules(const Rules& rules) { return Review(rules).run(); }

}  // namespace weir::advise
