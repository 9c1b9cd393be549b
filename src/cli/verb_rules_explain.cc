#include <algorithm>
#include <memory>
#include <ostream>

#include "base/json_text.h"
#include "cli/admin_client.h"
#include "cli/attribute_args.h"
#include "cli/decision_bound.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/moment.h"
#include "cli/verbs.h"
#include "rules/rule_book.h"
#include "server/config_value.h"

namespace weir::cli {
namespace {

using rules::RuleExplanation;

struct ExplainOptions {
  std::string path;
  std::string format = "weir";
  std::vector<std::string> words;
  std::int64_t cost = 1;
  bool json = false;
  bool server = false;
  ServerOptions connection;
};

// "120 per 60s, burst 200"; "3 at a time, lease 30s"
std::string allowance_text(const RuleExplanation& rule) {
  const std::optional<Allowance>& allowance = rule.allowance;
  if (!allowance) return "unlimited";
  if (rule.kind == ChargeKind::lease) {
    return std::to_string(allowance->limit) + " at a time, lease " + server::duration_text(allowance->window);
  }
  if (rule.kind == ChargeKind::quota) return std::to_string(allowance->limit) + " in its period";
  std::string text = std::to_string(allowance->limit) + " per " + server::duration_text(allowance->window);
  if (allowance->burst != allowance->limit) text += ", burst " + std::to_string(allowance->burst);
  if (allowance->algorithm == Algorithm::leaky_bucket) text += ", queue " + std::to_string(allowance->queue);
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void append_member(std::string& json, std::string_view name, std::string_view text) {
  json += ",\"" + std::string(name) + "\":";
  base::append_json_string(json, text);
}

void append_list(std::string& json, std::string_view name, const std::vector<std::string>& texts) {
  json += ",\"" + std::string(name) + "\":[";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) json += ',';
    base::append_json_string(json, texts[i]);
  }
  json += ']';
}

std::string json_of(const RuleExplanation& rule) {
  std::string json = "{\"rule\":";
  base::append_json_string(json, rule.rule);
  json += rule.applies ? ",\"applies\":true" : ",\"applies\":false";
  if (!rule.applies) {
    append_member(json, "why_not", rule.why_not);
    return json + "}";
  }
  append_member(json, "mode", mode_name(rule.mode));
  append_member(json, "chosen", rule.chosen);
  if (rule.allowance && rule.kind == ChargeKind::lease) {
    append_member(json, "algorithm", "concurrency");
    json += ",\"limit\":" + std::to_string(rule.allowance->limit);
    json += ",\"lease_ms\":" + std::to_string(ceil_ms(rule.allowance->window));
  } else if (rule.allowance && rule.kind == ChargeKind::quota) {
    append_member(json, "algorithm", "quota");
    json += ",\"limit\":" + std::to_string(rule.allowance->limit);
  } else if (rule.allowance) {
    append_member(json, "algorithm", algorithm_name(rule.allowance->algorithm));
    json += ",\"limit\":" + std::to_string(rule.allowance->limit);
    json += ",\"window_ms\":" + std::to_string(ceil_ms(rule.allowance->window));
    json += ",\"burst\":" + std::to_string(rule.allowance->burst);
  } else {
    json += ",\"unlimited\":true";
  }
  json += ",\"cost\":" + std::to_string(rule.cost);
  append_list(json, "counted_by", rule.counted_by);
  append_list(json, "notes", rule.notes);
  const advise::Bound bound = bound_of(rule);
  append_member(json, "admits", bound.text);
  json += bound.exact ? ",\"exact\":true" : ",\"exact\":false";
  return json + "}";
}

void show_json(const rules::Explanation& explanation, const DecisionBound& bound, std::ostream& out) {
  out << "{\"rules\":[";
  for (std::size_t i = 0; i < explanation.rules.size(); ++i) {
    out << (i == 0 ? "" : ",") << json_of(explanation.rules[i]);
  }
  std::string notes;
  append_list(notes, "cluster_notes", bound.cluster_notes);
  out << "],\"decision\":{\"atomic\":true,\"atomic_in_cluster\":" << (bound.cluster_notes.empty() ? "true" : "false")
      << ",\"exact\":" << (bound.exact ? "true" : "false") << notes << "}}\n";
}

void show_table(const rules::Explanation& explanation, const DecisionBound& bound, const Terminal& terminal) {
  constexpr std::size_t kWidest = 40;
  std::size_t width = 4;
  for (const RuleExplanation& rule : explanation.rules) width = std::max(width, std::min(rule.rule.size(), kWidest));
  const auto padded = [&](std::string_view text) {
    std::string out = shown(text);
    if (out.size() < width) out.append(width - out.size(), ' ');
    return out;
  };
  std::ostream& out = terminal.out;
  std::size_t applying = 0;
  for (const RuleExplanation& rule : explanation.rules) {
    out << terminal.paint(Colour::bold, padded(rule.rule)) << "  ";
    if (!rule.applies) {
      out << terminal.paint(Colour::faint, "does not apply: " + shown(rule.why_not)) << '\n';
      continue;
    }
    ++applying;
    out << terminal.paint(Colour::green, "applies") << ": " << allowance_text(rule) << ", from " << shown(rule.chosen)
        << ", cost " << rule.cost;
    if (!rule.counted_by.empty()) out << ", counted by " << shown(joined(rule.counted_by));
    if (rule.mode != Mode::enforce) out << ", " << terminal.paint(Colour::yellow, mode_name(rule.mode));
    for (const std::string& note : rule.notes) out << "; " << terminal.paint(Colour::yellow, shown(note));
    out << '\n'
        << std::string(width + 2, ' ') << terminal.paint(Colour::faint, "admits " + bound_of(rule).text) << '\n';
  }
  out << applying << " of " << explanation.rules.size() << " rules apply\n";
  if (applying == 0) return;
  out << "decision: " << bound.text() << '\n';
  for (const std::string& note : bound.cluster_notes) out << "  " << shown(note) << '\n';
}

// "2 of 120 used, free again at 14:03:20"
std::string live_text(JsonView rule) {
  if (rule["store_failed"].boolean()) return "the store did not answer";
  if (!rule["subject"].exists()) return "is not asked";  // blocked before
  if (!rule["limit"].exists()) return "unlimited";
  std::string text = rule["used"].text() + " of " + rule["capacity"].text() + " used";
  if (rule["retry_at"].exists()) text += ", free again at " + local_time(rule["retry_at"].text());
  return text;
}

void show_live(JsonView answer, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  const std::vector<JsonView> applying = answer["rules"].items();
  const std::vector<JsonView> others = answer["not_matched"].items();
  for (const JsonView rule : applying) {
    out << terminal.paint(Colour::bold, rule["rule"].text()) << "  "
        << (rule["allowed"].boolean() ? terminal.paint(Colour::green, "allows") : terminal.paint(Colour::red, "denies"))
        << ": " << live_text(rule);
    if (rule["mode"].text() != "enforce") out << ", " << terminal.paint(Colour::yellow, rule["mode"].text());
    out << "\n  " << terminal.paint(Colour::faint, rule["explanation"].text()) << '\n';
  }
  for (const JsonView rule : others) {
    out << terminal.paint(Colour::bold, rule["rule"].text()) << "  "
        << terminal.paint(Colour::faint, "does not apply: " + rule["why"].text()) << '\n';
  }
  out << applying.size() << " of " << applying.size() + others.size() << " rules apply\n";
  if (answer["blocked"].exists()) {
    out << terminal.paint(Colour::red, "blocked") << ": " << answer["blocked"]["reason"].text() << '\n';
  }
  out << "decision: "
      << (answer["allowed"].boolean() ? terminal.paint(Colour::green, "would be allowed")
                                      : terminal.paint(Colour::red, "would be denied"))
      << ", " << answer["reason"].text() << '\n';
}

// The place of the path has the first attribute.
int explain_on_server(const ExplainOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir rules explain", options.json, failure, admin_hint_for(failure));
  };
  std::vector<std::string> words = options.words;
  if (!options.path.empty()) words.insert(words.begin(), options.path);
  const Result<AttributeArgs> args = AttributeArgs::parse(words);
  if (!args.ok()) return fail(args.failure());
  Result<ServerTarget> target = admin_target(options.connection, terminal);
  if (!target.ok()) return fail(target.failure());
  AdminClient client(std::move(target).value());
  const Result<AdminAnswer> answer =
      client.ask("/subjects/lookup", "{\"attributes\":" + attributes_json(args.value().attributes()) +
                                         ",\"cost\":" + std::to_string(options.cost) + "}");
  if (!answer.ok()) return fail(answer.failure());
  if (options.json) {
    terminal.out << answer.value().text << '\n';
  } else {
    show_live(answer.value().view(), terminal);
  }
  return kExitAllowed;
}

int explain(const ExplainOptions& options, const Terminal& terminal) {
  if (options.server) return explain_on_server(options, terminal);
  if (options.path.empty()) {
    terminal.err << "weir rules explain: name the rules file, or --server for the rules of a running server\n";
    return kExitBadInput;
  }
  const Result<AttributeArgs> args = AttributeArgs::parse(options.words);
  if (!args.ok()) {
    terminal.err << "weir rules explain: " << args.failure().message << '\n';
    return kExitBadInput;
  }
  const Result<rules::ForeignRules> read =
      rules::read_rules(options.path, rules::format_from_name(options.format).value());
  rules::RuleBook book;
  const Status loaded = read.ok() ? book.replace(read.value().rules) : Status(read.failure());
  if (!loaded.ok()) {
    terminal.err << loaded.failure().message << '\n';
    return kExitBadInput;
  }
  const std::vector<Attribute> attributes = args.value().attributes();
  ProcessClock clock;
  const rules::Explanation explanation = book.current()->explain(Request(attributes, Cost{options.cost}), clock.wall());
  if (options.json) {
    show_json(explanation, decision_bound(explanation, read.value().rules), terminal.out);
  } else {
    show_table(explanation, decision_bound(explanation, read.value().rules), terminal);
  }
  return kExitAllowed;
}

}  // namespace

void add_rules_explain(CLI::App& parent, Session& session) {
  Command verb(parent, "explain", "Show which rules apply to a request, and why the others do not");
  const auto options = std::make_shared<ExplainOptions>();
  verb.word("path", options->path, "The rules file, a folder of them, or - for standard input; not with --server");
  verb.words("attributes", options->words, "The request's attributes, name=value each; names may repeat");
  verb.integer("--cost", options->cost, 0, kMaxUnits, "The request's own cost");
  verb.choice("--format", options->format, {"weir", "envoy", "limitador"}, "The format of the rules");
  verb.flag("--server", options->server, "Explain with the rules and the state of a running server (--admin)");
  verb.flag("--json", options->json, "For machines: {\"rules\":[…]}; with --server what the server answers");
  add_admin_options(verb, options->connection);
  verb.footer(
      "With --server nothing is charged. It shows what a check would find now: what is used "
      "and left of every\nrule, overrides and blocks that operators have set, and the plan of "
      "the tenant's record.\nExit codes: 0 explained, 2 bad input or invalid rules, 3 the "
      "server cannot be reached or refused.\n\nExamples:\n  weir rules explain rules.yaml "
      "tenant=acme api_key=k1 action=search\n  weir rules explain rules.d/ tenant=acme "
      "plan=free method=POST --cost 3 --json\n  weir rules explain --server tenant=acme "
      "action=search\n  weir rules explain --format envoy config/ domain=edge "
      "remote_address=192.0.2.7");
  verb.action(session, [&session, options] { return explain(*options, session.terminal); });
}

}  // namespace weir::cli
