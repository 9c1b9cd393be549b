#include "frontends/http/decision_json.h"

#include <string_view>

#include "frontends/http/json_text.h"
#include "weir/time.h"

namespace weir::http {
namespace {

constexpr std::size_t kTypicalDecision = 256;
constexpr std::size_t kTypicalRule = 224;

struct ProblemType {
  std::string_view uri;
  std::string_view title;
};

ProblemType problem_type(Reason reason) {
  switch (reason) {
    case Reason::blocked:
    case Reason::penalized:
      return {"https://iana.org/assignments/http-problem-types#abnormal-usage-detected", "Abnormal usage detected"};
    case Reason::shed:
    case Reason::store_unavailable:
      return {"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
              "Temporary reduced capacity"};
    default:
      return {"https://iana.org/assignments/http-problem-types#quota-exceeded", "Quota exceeded"};
  }
}

void append_bool(std::string& out, bool value) { out += value ? "true" : "false"; }

void append_member(std::string& out, std::string_view name, std::int64_t value) {
  out += name;
  append_number(out, value);
}

// The ids of the rules that `wanted` picks, as an array.
template <typename Wanted>
void append_ids(std::string& out, const Decision& decision, Wanted wanted) {
  out += '[';
  bool first = true;
  for (const RuleOutcome& rule : decision.rules) {
    if (!wanted(rule)) continue;
    if (!first) out += ',';
    first = false;
    append_json_string(out, rule.rule);
  }
  out += ']';
}

void append_rule(std::string& out, const RuleOutcome& rule) {
  out += R"({"rule":)";
  append_json_string(out, rule.rule);
  out += R"(,"algorithm":")";
  out += algorithm_name(rule.algorithm);
  out += R"(","mode":")";
  out += mode_name(rule.mode);
  out += R"(","allowed":)";
  append_bool(out, rule.allowed);
  append_member(out, R"(,"limit":)", rule.limit);
  append_member(out, R"(,"remaining":)", rule.remaining);
  append_member(out, R"(,"retry_after_ms":)", ceil_ms(rule.retry_after));
  append_member(out, R"(,"reset_after_ms":)", ceil_ms(rule.reset_after));
  out += '}';
}

// Everything between the braces.
void append_members(std::string& out, const Decision& decision) {
  const RuleOutcome* rule = decision.decisive();
  out += R"("allowed":)";
  append_bool(out, decision.allowed);
  out += R"(,"reason":")";
  out += reason_name(decision.reason);
  if (rule != nullptr) {
    out += R"(","rule":)";
    append_json_string(out, rule->rule);
    out += R"(,"algorithm":")";
    out += algorithm_name(rule->algorithm);
    out += '"';
  } else {
    out += R"(","rule":null,"algorithm":null)";
  }
  append_member(out, R"(,"limit":)", rule != nullptr ? rule->limit : 0);
  append_member(out, R"(,"remaining":)", rule != nullptr ? rule->remaining : 0);
  append_member(out, R"(,"retry_after_ms":)", ceil_ms(decision.retry_after));
  append_member(out, R"(,"reset_after_ms":)", rule != nullptr ? ceil_ms(rule->reset_after) : 0);
  append_member(out, R"(,"cost":)", decision.cost);
  append_member(out, R"(,"delay_ms":)", ceil_ms(decision.delay));
  out += R"(,"degraded":)";
  append_bool(out, decision.degraded);
  out += R"(,"source":)";
  append_json_string(out, decision.source);
  if (!decision.atomic) out += R"(,"atomic":false)";
  out += R"(,"shadow_denied":)";
  append_ids(out, decision, [](const RuleOutcome& r) { return r.mode == Mode::shadow && !r.allowed; });
  out += R"(,"rules":[)";
  bool first = true;
  for (const RuleOutcome& each : decision.rules) {
    if (!first) out += ',';
    first = false;
    append_rule(out, each);
  }
  out += ']';
}

void append_duration(std::string& out, Duration duration) {
  const bool whole_seconds = duration.count() % 1'000'000 == 0;
  append_number(out, whole_seconds ? ceil_seconds(duration) : ceil_ms(duration));
  out += whole_seconds ? " s" : " ms";
}

// A sentence for people. It names the rule and its numbers, never who asked.
std::string denial_sentence(const Decision& decision) {
  const RuleOutcome* rule = decision.decisive();
  std::string text;
  switch (decision.reason) {
    case Reason::store_unavailable:
      text = "The limits cannot be looked up at the moment";
      break;
    case Reason::shed:
      text = "The service sheds load at the moment";
      break;
    case Reason::blocked:
      text = "The caller is blocked";
      break;
    case Reason::penalized:
      text = "The caller is blocked for a while after repeated violations";
      break;
    default:
      text = "The request is over its limit";
      break;
  }
  if (rule != nullptr) {
    text += ": rule ";
    text += rule->rule;
    text += " allows ";
    append_number(text, rule->limit);
    if (rule->window.count() > 0) {
      text += " per ";
      append_duration(text, rule->window);
    }
  }
  if (decision.reason == Reason::cost_too_large) {
    text += "; a cost of ";
    append_number(text, rule != nullptr ? rule->cost : decision.cost);
    text += " can never fit.";
  } else if (decision.retry_after.count() > 0) {
    text += "; try again in ";
    append_duration(text, decision.retry_after);
    text += '.';
  } else {
    text += '.';
  }
  return text;
}

}  // namespace

void append_decision(std::string& out, const Decision& decision) {
  out.reserve(out.size() + kTypicalDecision + decision.rules.size() * kTypicalRule);
  out += '{';
  append_members(out, decision);
  out += '}';
}

void append_denial(std::string& out, const Decision& decision, int status) {
  const ProblemType type = problem_type(decision.reason);
  out.reserve(out.size() + 2 * kTypicalDecision + decision.rules.size() * kTypicalRule);
  out += R"({"type":")";
  out += type.uri;
  out += R"(","title":")";
  out += type.title;
  append_member(out, R"(","status":)", status);
  out += R"(,"detail":)";
  append_json_string(out, denial_sentence(decision));
  out += R"(,"code":")";
  out += reason_name(decision.reason);
  out += R"(","violated-policies":)";
  append_ids(out, decision, [](const RuleOutcome& r) { return r.mode == Mode::enforce && !r.allowed; });
  out += ',';
  append_members(out, decision);
  out += '}';
}

int default_status(const Decision& decision) {
  if (decision.allowed) return 200;
  return decision.reason == Reason::store_unavailable || decision.reason == Reason::shed ? 503 : 429;
}

}  // namespace weir::http
