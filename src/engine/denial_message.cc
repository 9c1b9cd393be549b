// The rule's own message for a denied client.
#include "base/duration_text.h"
#include "base/text_template.h"
#include "weir/decision.h"

namespace weir {

std::string denial_message(const Decision& decision) {
  std::string text;
  if (decision.allowed || decision.message.empty()) return text;
  switch (decision.reason) {
    case Reason::limit_exceeded:
    case Reason::concurrency_exceeded:
    case Reason::quota_exceeded:
    case Reason::penalized:
    case Reason::challenge:
      break;
    default:
      return text;
  }
  const bool waits = decision.retry_after > Duration::zero();
  if (!waits && base::has_placeholder(decision.message, "wait")) return text;
  const RuleOutcome* const rule = decision.decisive();
  const std::string limit = rule == nullptr ? "" : std::to_string(rule->limit);
  const std::string window = rule == nullptr ? "" : base::duration_for_people(ceil_ms(rule->window));
  const std::string wait = base::duration_for_people(ceil_ms(decision.retry_after));
  const base::TemplateValue values[] = {{"limit", limit}, {"window", window}, {"wait", wait}};
  base::append_filled(text, decision.message, values);
  return text;
}

}  // namespace weir
