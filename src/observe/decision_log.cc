#include "observe/decision_log.h"

#include <vector>

namespace weir::observe {
namespace {

std::string_view shadow_denied(const Decision& decision) {
  for (const RuleOutcome& rule : decision.rules) {
    if (rule.mode == Mode::shadow && !rule.allowed) return rule.rule;
  }
  return {};
}

}  // namespace

void DecisionLog::on_decision(const Decision& decision) {
  std::int64_t share = decision.allowed ? sample_.allowed : sample_.denied;
  if (share < sample_.denied && !shadow_denied(decision).empty()) share = sample_.denied;
  if (drawn(share)) write(decision);
}

// SplitMix64: one multiplication chain per decision, no state beyond a word.
bool DecisionLog::drawn(std::int64_t share) {
  if (share == 0) return false;
  random_ += 0x9E3779B97F4A7C15;
  std::uint64_t mixed = random_;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
  mixed ^= mixed >> 31;
  return static_cast<std::int64_t>(mixed % kWholeShare) < share;
}

void DecisionLog::write(const Decision& decision) {
  std::vector<Field> fields;
  fields.reserve(14);
  fields.emplace_back("outcome", decision.allowed ? "allowed" : "denied");
  fields.emplace_back("reason", reason_name(decision.reason));
  SubjectDigits subject{};
  if (const RuleOutcome* rule = decision.decisive()) {
    fields.emplace_back("rule", rule->rule);
    if (const auto name = algorithm_name(*rule); !name.empty()) fields.emplace_back("algorithm", name);
    if (!rule->unlimited) {
      fields.emplace_back("limit", rule->limit);
      fields.emplace_back("remaining", rule->remaining);
    }
    subject = subject_digits(rule->subject);
  }
  fields.emplace_back("cost", decision.cost);
  fields.emplace_back("retry_after_ms", ceil_ms(decision.retry_after));
  if (decision.delay.count() > 0) fields.emplace_back("delay_ms", ceil_ms(decision.delay));
  if (decision.degraded) fields.emplace_back("degraded", true);
  if (const std::string_view rule = shadow_denied(decision); !rule.empty()) fields.emplace_back("shadow_denied", rule);
  fields.emplace_back("source", decision.source);
  if (decision.deciding >= 0) fields.emplace_back("subject", std::string_view(subject.data(), subject.size()));
  log_.write(Level::info, "decision", "decision", fields);
}

}  // namespace weir::observe
