#include "frontends/render/decision_json.h"

#include <optional>
#include <string_view>

#include "base/ascii.h"
#include "base/json_text.h"
#include "frontends/render/json_text.h"
#include "weir/time.h"

namespace weir::render {
namespace {

struct ProblemType {
  std::string_view uri;
  std::string_view title;
};

ProblemType problem_type(Reason reason) {
  switch (reason) {
    case Reason::blocked:
    case Reason::penalized:
    case Reason::challenge:
      return {"https://iana.org/assignments/http-problem-types#abnormal-usage-detected", "Abnormal usage detected"};
    case Reason::shed:
    case Reason::store_unavailable:
      return {"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
              "Temporary reduced capacity"};
    default:
      return {"https://iana.org/assignments/http-problem-types#quota-exceeded", "Quota exceeded"};
  }
}

// The ids of the rules that `wanted` picks, as an array.
template <typename Wanted>
void write_ids(RoomWriter& out, const Decision& decision, Wanted wanted) {
  out.literal("[");
  bool first = true;
  for (const RuleOutcome& rule : decision.rules) {
    if (!wanted(rule)) continue;
    if (!first) out.literal(",");
    first = false;
    out.json_string(rule.rule);
  }
  out.literal("]");
}

void write_bool(RoomWriter& out, bool value) {
  if (value) {
    out.literal("true");
  } else {
    out.literal("false");
  }
}

// An unlimited rule has no number to show, and no large one is made up for it.
void write_limit(RoomWriter& out, const RuleOutcome& rule) {
  if (rule.unlimited) {
    out.literal(R"(,"limit":null,"remaining":null)");
    return;
  }
  out.literal(R"(,"limit":)");
  out.number(rule.limit);
  out.literal(R"(,"remaining":)");
  out.number(rule.remaining);
}

void write_algorithm(RoomWriter& out, const RuleOutcome& rule) {
  const std::string_view name = algorithm_name(rule);
  if (name.empty()) return out.literal(R"(,"algorithm":null)");
  out.literal(R"(,"algorithm":")");
  out.text(name);
  out.literal("\"");
}

void write_moments(RoomWriter& out, std::optional<TimePoint> retry_at, std::optional<TimePoint> reset_at) {
  const auto write = [&out](std::optional<TimePoint> moment) {
    moment ? out.number(ceil_unix_ms(*moment)) : out.literal("null");
  };
  out.literal(R"(,"retry_at_ms":)");
  write(retry_at);
  out.literal(R"(,"reset_at_ms":)");
  write(reset_at);
}

void write_consistency(RoomWriter& out, const RuleOutcome& rule) {
  out.literal(R"(,"consistency":")");
  out.text(consistency_name(rule.consistency));
  out.literal(R"(","tolerance":)");
  out.number(rule.tolerance);
  out.literal(R"(,"estimated":)");
  write_bool(out, rule.estimated);
}

// What the candidate numbers of a rule say.
std::string_view candidate_name(CandidateVerdict verdict) {
  constexpr std::string_view kNames[] = {"", "warming", "allows", "denies"};
  return kNames[static_cast<std::size_t>(verdict)];
}

void write_rule(RoomWriter& out, const Decision& decision, const RuleOutcome& rule) {
  out.literal(R"({"rule":)");
  out.json_string(rule.rule);
  write_algorithm(out, rule);
  out.literal(R"(,"mode":")");
  out.text(mode_name(rule.mode));
  out.literal(R"(","subject":)");
  if (rule.unlimited) {
    out.literal("null");
  } else {
    SubjectDigits room;
    out.literal("\"");
    out.text(subject_text(rule, room));
    out.literal("\"");
  }
  out.literal(R"(,"allowed":)");
  write_bool(out, rule.allowed);
  write_limit(out, rule);
  if (!rule.unlimited) {
    out.literal(R"(,"capacity":)");
    out.number(rule.capacity);
    out.literal(R"(,"window_ms":)");
    out.number(ceil_ms(rule.window));
  }
  out.literal(R"(,"retry_after_ms":)");
  out.number(ceil_ms(rule.retry_after));
  out.literal(R"(,"reset_after_ms":)");
  out.number(ceil_ms(rule.reset_after));
  write_moments(out, decision.retry_at(rule), decision.reset_at(rule));
  if (rule.consistency != Consistency::exact || rule.estimated || rule.tolerance > 0) [[unlikely]]
    write_consistency(out, rule);
  if (rule.candidate != CandidateVerdict::none) [[unlikely]] {
    out.literal(R"(,"candidate":")");
    out.text(candidate_name(rule.candidate));
    out.literal("\"");
  }
  out.literal("}");
}

// The deciding rule's part of the members.
void write_decisive(RoomWriter& out, const RuleOutcome* rule) {
  if (rule == nullptr) {
    out.literal(R"(,"rule":null,"algorithm":null,"limit":null,"remaining":null)");
    return;
  }
  out.literal(R"(,"rule":)");
  out.json_string(rule->rule);
  write_algorithm(out, *rule);
  write_limit(out, *rule);
}

// An estimate that is enough for write_members() in practice: the literals and names, then the numbers, then what users
// named.
std::size_t members_room(const Decision& decision) {
  constexpr std::size_t kWords = 608;
  constexpr std::size_t kRuleWords = 400;
  std::size_t room = kWords + 11 * RoomWriter::kNumber + RoomWriter::json_string_room(decision.source.size());
  if (const RuleOutcome* rule = decision.decisive()) room += RoomWriter::json_string_room(rule->rule.size());
  for (const RuleOutcome& rule : decision.rules) {
    // Once as a rule, once among those that denied in shadow.
    room += kRuleWords + 9 * RoomWriter::kNumber + 2 * RoomWriter::json_string_room(rule.rule.size());
  }
  return room;
}

void write_message(RoomWriter& out, const Decision& decision) {
  const std::string message = denial_message(decision);
  if (message.empty()) return;
  out.literal(R"(,"message":)");
  out.json_string(message);
}

// Everything between the braces.
void write_members(RoomWriter& out, const Decision& decision) {
  const RuleOutcome* rule = decision.decisive();
  out.literal(R"("allowed":)");
  write_bool(out, decision.allowed);
  out.literal(R"(,"reason":")");
  out.text(reason_name(decision.reason));
  out.literal("\"");
  write_decisive(out, rule);
  out.literal(R"(,"retry_after_ms":)");
  out.number(ceil_ms(decision.retry_after));
  out.literal(R"(,"reset_after_ms":)");
  out.number(rule != nullptr ? ceil_ms(rule->reset_after) : 0);
  write_moments(out, decision.retry_at(), decision.reset_at());
  out.literal(R"(,"cost":)");
  out.number(told_cost(decision));
  out.literal(R"(,"delay_ms":)");
  out.number(ceil_ms(decision.delay));
  out.literal(R"(,"degraded":)");
  write_bool(out, decision.degraded);
  out.literal(R"(,"source":)");
  out.json_string(told_source(decision));
  if (!decision.atomic) out.literal(R"(,"atomic":false)");
  if (decision.uncharged > 0) [[unlikely]] {
    out.literal(R"(,"uncharged":)");
    out.number(decision.uncharged);
  }
  if (!decision.message.empty()) [[unlikely]]
    write_message(out, decision);
  out.literal(R"(,"shadow_denied":)");
  write_ids(out, decision, [](const RuleOutcome& r) { return r.mode == Mode::shadow && !r.allowed; });
  out.literal(R"(,"rules":[)");
  bool first = true;
  for (const RuleOutcome& each : decision.rules) {
    if (!first) out.literal(",");
    first = false;
    write_rule(out, decision, each);
  }
  out.literal("]");
}

void append_duration(std::string& out, Duration duration) {
  const bool whole_seconds = duration.count() % 1'000'000 == 0;
  base::append_number(out, whole_seconds ? ceil_seconds(duration) : ceil_ms(duration));
  out += whole_seconds ? " s" : " ms";
}

// A sentence for people. It names the rule and its numbers, never the caller.
std::string denial_sentence(const Decision& decision) {
  const RuleOutcome* rule = decision.decisive();
  std::string text;
  switch (decision.reason) {
    case Reason::store_unavailable:
      text = "The limits cannot be checked at the moment";
      break;
    case Reason::shed:
      text = "The service is overloaded and sheds load";
      break;
    case Reason::blocked:
      text = "The caller is blocked, or its credentials were not accepted";
      break;
    case Reason::too_many_reservations:
      text = "There are too many open reservations; settle some first";
      rule = nullptr;
      break;
    case Reason::challenge:
      text = "The client has to pass a challenge first";
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
    base::append_number(text, rule->limit);
    if (rule->window.count() > 0) {
      text += " per ";
      append_duration(text, rule->window);
    } else if (rule->kind == ChargeKind::lease) {
      text += " at a time";
    } else if (rule->kind == ChargeKind::quota) {
      text += " in its period";
    }
  }
  if (decision.reason == Reason::cost_too_large && rule != nullptr && rule->bad_cost) {
    text += "; the attribute that the rule takes the cost from is not a whole number.";
  } else if (decision.reason == Reason::cost_too_large) {
    text += "; a cost of ";
    base::append_number(text, rule != nullptr ? rule->cost : decision.cost);
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
  RoomWriter writer(out, members_room(decision) + 2);
  writer.literal("{");
  write_members(writer, decision);
  writer.literal("}");
  writer.finish();
}

void append_denial(std::string& out, const Decision& decision, int status) {
  const ProblemType type = problem_type(decision.reason);
  out += R"({"type":")";
  out += type.uri;
  out += R"(","title":")";
  out += type.title;
  out += R"(","status":)";
  base::append_number(out, status);
  out += R"(,"detail":)";
  const std::string message = denial_message(decision);
  base::append_json_string(out, message.empty() ? denial_sentence(decision) : message);
  out += R"(,"code":")";
  out += reason_name(decision.reason);
  out += R"(","violated-policies":)";
  // Twice the room for the ids: here and among the members.
  RoomWriter writer(out, 2 * members_room(decision));
  write_ids(writer, decision, [](const RuleOutcome& r) { return r.mode == Mode::enforce && !r.allowed; });
  writer.literal(",");
  write_members(writer, decision);
  writer.literal("}");
  writer.finish();
}

std::int64_t told_cost(const Decision& decision) { return decision.reason == Reason::blocked ? 0 : decision.cost; }

std::string_view told_source(const Decision& decision) {
  return decision.reason == Reason::blocked ? std::string_view() : decision.source;
}

int default_status(const Decision& decision) {
  if (decision.allowed) return 200;
  if (decision.reason == Reason::blocked || decision.reason == Reason::challenge) return 403;
  return decision.reason == Reason::store_unavailable || decision.reason == Reason::shed ? 503 : 429;
}

}  // namespace weir::render
