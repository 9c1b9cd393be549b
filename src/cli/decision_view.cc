#include "cli/decision_view.h"

#include <simdjson.h>

#include <algorithm>
#include <iomanip>
#include <ostream>

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
  read_number(object, "retry_after_ms", rule.retry_after_ms);
  read_number(object, "reset_after_ms", rule.reset_after_ms);
  return rule;
}

Failure not_a_decision(const element& root) {
  std::string detail;
  read_text(root, "detail", detail);
  if (!detail.empty()) return {Code::invalid_argument, detail};
  return {Code::internal, "the answer is not a decision"};
}

std::string verdict_of(const Terminal& terminal, bool allowed, bool shadow) {
  if (allowed) return terminal.paint(Colour::green, "allowed");
  return shadow ? terminal.paint(Colour::yellow, "would deny") : terminal.paint(Colour::red, "denied");
}

void show_rule(const Terminal& terminal, const RuleView& rule) {
  const bool shadow = rule.mode == "shadow";
  terminal.out << "  " << verdict_of(terminal, rule.allowed, shadow) << "  " << shown(rule.rule) << " ("
               << shown(rule.algorithm) << (shadow ? ", shadow" : "") << "): " << rule.remaining << " of " << rule.limit
               << " left";
  if (rule.retry_after_ms > 0) terminal.out << ", retry after " << duration_for_people(rule.retry_after_ms);
  if (rule.reset_after_ms > 0) terminal.out << ", full again in " << duration_for_people(rule.reset_after_ms);
  terminal.out << '\n';
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
  read_number(root, "retry_after_ms", view.retry_after_ms);
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
  if (!allowed && retry_after_ms > 0) out << ", retry after " << duration_for_people(retry_after_ms);
  if (reason == "cost_too_large") out << ", no wait can help";
  if (delay_ms > 0) out << ", wait " << duration_for_people(delay_ms) << " first";
  out << '\n';
  for (const RuleView& each : rules) show_rule(terminal, each);
}

}  // namespace weir::cli
