#include "cli/decision_view.h"

#include <simdjson.h>

#include <algorithm>
#include <ostream>

#include "observe/log.h"
#include "weir/time.h"

namespace weir::cli {
namespace {

using simdjson::dom::element;

// Members that are absent or of another type leave their target as it is.
void read_text(const element& object, std::string_view name, std::string& target) {
  std::string_view text;
  if (object[name].get_string().get(text) == simdjson::SUCCESS) target = text;
}
void read_number(const element& object, std::string_view name, std::int64_t& target) {
  std::int64_t number = 0;
  if (object[name].get_int64().get(number) == simdjson::SUCCESS) target = number;
}
bool read_flag(const element& object, std::string_view name, bool& target) {
  return object[name].get_bool().get(target) == simdjson::SUCCESS;
}

RuleView read_rule(const element& object) {
  RuleView rule;
  read_text(object, "rule", rule.rule);
  read_text(object, "algorithm", rule.algorithm);
  read_text(object, "mode", rule.mode);
  read_flag(object, "allowed", rule.allowed);
  read_number(object, "limit", rule.limit);
  read_number(object, "remaining", rule.remaining);
  read_number(object, "capacity", rule.capacity);
  read_number(object, "window_ms", rule.window_ms);
  read_number(object, "retry_after_ms", rule.retry_after_ms);
  read_number(object, "reset_after_ms", rule.reset_after_ms);
  read_text(object, "subject", rule.subject);
  return rule;
}

Failure not_a_decision(const element& root) {
  std::string detail;
  read_text(root, "detail", detail);
  if (!detail.empty()) return {Code::invalid_argument, detail};
  return {Code::internal, "the answer is not a decision"};
}

std::string_view verdict_word(bool allowed, bool shadow) {
  if (allowed) return "allowed";
  return shadow ? "would deny" : "denied";
}

// With spaces behind it up to `columns`; the colour covers the word only.
std::string verdict_of(const Terminal& terminal, bool allowed, bool shadow, std::size_t columns = 0) {
  const std::string_view word = verdict_word(allowed, shadow);
  const Colour colour = allowed ? Colour::green : shadow ? Colour::yellow : Colour::red;
  return terminal.paint(colour, word) + std::string(columns - std::min(columns, word.size()), ' ');
}

// "199 of 200 left (limit 120 per 60 s, burst 200)"
std::string usage_of(const RuleView& rule) {
  if (rule.limit < 0) return "unlimited";
  std::string limit = "limit " + std::to_string(rule.limit);
  if (rule.window_ms > 0) limit += " per " + duration_for_people(rule.window_ms);
  const bool queues = rule.algorithm == "leaky-bucket";
  if (queues && rule.capacity > 0) limit += ", queue " + std::to_string(rule.capacity - 1);
  if (!queues && rule.capacity > 0 && rule.capacity != rule.limit) limit += ", burst " + std::to_string(rule.capacity);
  std::string text = std::to_string(rule.remaining);
  if (rule.capacity > 0) text += " of " + std::to_string(rule.capacity);
  return text + " left (" + limit + ")";
}

std::string waits_of(const RuleView& rule) {
  std::string text;
  if (rule.retry_after_ms > 0) text += "retry after " + duration_for_people(rule.retry_after_ms);
  if (rule.reset_after_ms > 0) {
    text += (text.empty() ? "full again in " : ", full again in ") + duration_for_people(rule.reset_after_ms);
  }
  return text;
}

std::string kind_of(const RuleView& rule) { return shown(rule.algorithm) + (rule.mode == "shadow" ? ", shadow" : ""); }

// The widest entry of a column; a few very long ones do not push the others away.
template <typename Text>
std::size_t width_of(const std::vector<RuleView>& rules, Text text) {
  constexpr std::size_t kWidest = 48;
  std::size_t width = 0;
  for (const RuleView& rule : rules) width = std::max(width, std::min(columns_of(text(rule)), kWidest));
  return width;
}

}  // namespace

Result<DecisionView> DecisionView::read(std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) {
    return Failure{Code::internal, "the answer is not JSON"};
  }
  DecisionView view;
  if (!read_flag(root, "allowed", view.allowed)) return not_a_decision(root);
  read_flag(root, "degraded", view.degraded);
  read_text(root, "reason", view.reason);
  read_text(root, "rule", view.rule);
  read_text(root, "message", view.message);
  read_number(root, "retry_after_ms", view.retry_after_ms);
  read_number(root, "retry_at_ms", view.retry_at_ms);
  read_number(root, "delay_ms", view.delay_ms);
  simdjson::dom::array rules;
  if (root["rules"].get_array().get(rules) == simdjson::SUCCESS) {
    for (const element& rule : rules) view.rules.push_back(read_rule(rule));
  }
  return view;
}

void DecisionView::show(const Terminal& terminal) const {
  std::ostream& out = terminal.out;
  out << verdict_of(terminal, allowed, false);
  if (!rule.empty()) out << " by " << terminal.paint(Colour::bold, shown(rule));
  if (reason != "ok") out << " (" << shown(reason) << ")";
  if (degraded) out << ", " << terminal.paint(Colour::yellow, "decided without the store");
  if (!allowed && retry_after_ms > 0) {
    out << ", retry after " << duration_for_people(retry_after_ms);
    if (retry_at_ms > 0) out << " (" << observe::rfc3339(from_micros(retry_at_ms * 1000)) << ")";
  }
  if (reason == "cost_too_large") out << ", it will never fit";
  if (delay_ms > 0) out << ", wait " << duration_for_people(delay_ms) << " first";
  out << '\n';
  if (!message.empty()) out << "  message: " << shown(message) << '\n';
  show_rules(terminal, true);
}

void DecisionView::show_rules(const Terminal& terminal, bool verdicts) const {
  const std::size_t id_width = width_of(rules, [](const RuleView& each) { return shown(each.rule); });
  const std::size_t kind_width = width_of(rules, kind_of);
  const std::size_t usage_width = width_of(rules, usage_of);
  const std::size_t waits_width = width_of(rules, waits_of);
  std::size_t verdict_width = 0;
  for (const RuleView& each : rules) {
    verdict_width = std::max(verdict_width, verdict_word(each.allowed, each.mode == "shadow").size());
  }
  for (const RuleView& each : rules) {
    std::ostream& out = terminal.out << "  ";
    if (verdicts) out << verdict_of(terminal, each.allowed, each.mode == "shadow", verdict_width) << "  ";
    out << padded(shown(each.rule), id_width) << "  " << padded(kind_of(each), kind_width) << "  ";
    const std::string waits = waits_of(each);
    const std::string subject = each.subject.empty() ? "" : "subject " + shown(each.subject);
    out << (waits.empty() && subject.empty() ? usage_of(each) : padded(usage_of(each), usage_width));
    if (!waits.empty() || !subject.empty())
      out << "  " << (subject.empty() ? waits : padded(waits, waits_width) + "  ");
    out << subject << '\n';
  }
}

}  // namespace weir::cli
