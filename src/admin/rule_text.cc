#include "admin/rule_text.h"

#include "base/duration_text.h"
#include "ledger/period.h"

namespace weir::admin {
namespace {

std::string duration_words(Duration duration) { return base::duration_for_people(ceil_ms(duration)); }

// "tenant and api_key"
std::string and_list(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string numbers_text(std::int64_t limit, Duration window, std::optional<std::int64_t> burst,
                         std::optional<std::int64_t> queue, ChargeKind kind) {
  if (kind == ChargeKind::lease) return std::to_string(limit) + " at a time";
  std::string text = std::to_string(limit);
  if (window > Duration(0)) text += " per " + duration_words(window);
  if (burst && *burst != limit) text += ", burst " + std::to_string(*burst);
  if (queue) text += ", queue " + std::to_string(*queue);
  return text;
}

// " per month" of a quota.
std::string period_text(const Rule& rule) {
  if (rule.kind != ChargeKind::quota || !rule.quota.period) return {};
  return " per " + std::string(ledger::unit_name(*rule.quota.period));
}

std::string change_text(const Rule& rule, const AllowanceChange& change) {
  if (change.unlimited) return "unlimited";
  return numbers_text(change.limit.value_or(rule.allowance.limit), change.window.value_or(rule.allowance.window),
                      change.burst ? change.burst : rule.allowance.burst,
                      change.queue ? change.queue : rule.allowance.queue, rule.kind) +
         period_text(rule);
}

std::string conditions_text(const std::vector<weir::Condition>& conditions) {
  std::vector<std::string> words;
  for (const weir::Condition& each : conditions) {
    if (each.patterns.size() == 1) {
      words.push_back(each.patterns[0] == kAbsent ? "no " + each.attribute : each.attribute + " " + each.patterns[0]);
    } else {
      words.push_back(each.attribute + " among " + and_list(each.patterns));
    }
  }
  return and_list(words);
}

}  // namespace

std::string_view algorithm_of(const Rule& rule) {
  return rule.kind == ChargeKind::bucket ? algorithm_name(rule.allowance.algorithm) : charge_kind_name(rule.kind);
}

std::string summary_of(const Rule& rule) {
  std::string text = rule.unlimited ? "unlimited"
                                    : numbers_text(rule.allowance.limit, rule.allowance.window, rule.allowance.burst,
                                                   rule.allowance.queue, rule.kind) +
                                          period_text(rule);
  if (!rule.per.empty()) text += ", per " + and_list(rule.per);
  return text;
}

std::string allowance_text(const std::optional<Allowance>& allowance, ChargeKind kind) {
  if (!allowance) return "unlimited";
  const bool leaky = allowance->algorithm == Algorithm::leaky_bucket;
  return numbers_text(allowance->limit, allowance->window, allowance->burst,
                      leaky ? std::optional(allowance->queue) : std::nullopt, kind);
}

std::string override_text(const Rule& rule, const AllowanceChange& change, const std::optional<Mode>& mode) {
  if (change != AllowanceChange()) return change_text(rule, change);
  return mode ? "mode " + std::string(mode_name(*mode)) : summary_of(rule);
}

std::vector<std::string> explain_rule(const rules::CompiledRule& rule) {
  const Rule& source = rule.source;
  std::vector<std::string> text;
  text.push_back(
      "Counts " +
      (source.match.empty() ? std::string("every request") : "requests with " + conditions_text(source.match)) +
      (source.per.empty() ? ", all together." : ", by " + and_list(source.per) + "."));
  text.push_back("Allows " + summary_of(source) + " (" + std::string(algorithm_of(source)) + ").");
  for (const Plan& each : source.plans)
    text.push_back("Plan " + each.name + ": " + change_text(source, each.change) + ".");
  for (const Override& each : source.overrides) {
    std::string line = each.emergency ? "Emergency override" : "Override";
    if (!each.when.empty()) line += " for " + conditions_text(each.when);
    line += ": " + change_text(source, each.change);
    if (!each.reason.empty()) line += " (" + each.reason + ")";
    text.push_back(line + ".");
  }
  if (rule.mode == Mode::shadow) text.push_back("In shadow mode: it counts, but denies nothing.");
  if (rule.mode == Mode::off) text.push_back("Switched off.");
  if (source.rollout < 100) text.push_back("Applies to " + std::to_string(source.rollout) + " % of its subjects.");
  const OnStoreFailure failure = source.on_store_failure.value_or(OnStoreFailure{});
  std::string line = "If the store does not answer: " + std::string(failure_policy_name(failure.policy));
  if (failure.term && failure.then) {
    line += " for " + duration_words(*failure.term) + ", then " + std::string(failure_policy_name(*failure.then));
  }
  text.push_back(line + ".");
  return text;
}

std::string explain_match(const rules::RuleExplanation& explanation) {
  std::string text = allowance_text(explanation.allowance, explanation.kind) + ", from " +
                     (explanation.chosen == "rule" ? "the rule itself" : "the " + explanation.chosen) + "; costs " +
                     std::to_string(explanation.cost);
  if (!explanation.counted_by.empty()) text += "; counted by " + and_list(explanation.counted_by);
  if (explanation.mode == Mode::shadow) text += "; in shadow mode, so it denies nothing";
  for (const std::string& note : explanation.notes) text += "; " + note;
  return text + ".";
}

std::string_view allowance_source(const rules::RuleExplanation& explanation) {
  constexpr std::string_view kNames[] = {"default", "plan", "override", "emergency"};
  return kNames[static_cast<std::size_t>(explanation.source)];
}

}  // namespace weir::admin
