// `weir why`: why requests with these attributes were denied, and what every rule says to them now.
#include <ctime>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/moment.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct WhyOptions {
  std::vector<std::string> words;
  std::string at;
  std::int64_t within = 60;
  std::string rule;
  std::int64_t limit = 10;
  bool json = false;
  ServerOptions server;
};

// What a bucket of the rule holds now, with the burst; "" if the rule's limit is another one by now.
std::string capacity_of(JsonView lookup, JsonView rule) {
  for (const JsonView each : lookup["rules"].items()) {
    if (each["rule"].text() == rule["rule"].text() && each["limit"].text() == rule["limit"].text()) {
      return each["capacity"].text();
    }
  }
  return {};
}

// "3 of 5 left, costs 1"
std::string state_text(JsonView rule, JsonView lookup) {
  if (rule["store_failed"].boolean()) return "the store did not answer";
  if (!rule["limit"].exists()) return "unlimited";
  const std::string capacity = capacity_of(lookup, rule);
  const std::string of = capacity.empty() ? " left, limit " + rule["limit"].text() : " of " + capacity + " left";
  return rule["remaining"].text() + of + ", costs " + rule["cost"].text();
}

void show_denial(JsonView entry, JsonView lookup, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  out << terminal.paint(Colour::bold, local_time(entry["at"].text())) << "  " << terminal.paint(Colour::red, "denied");
  if (entry["rule"].exists()) out << " by " << terminal.paint(Colour::bold, entry["rule"].text());
  out << ": " << entry["reason"].text();
  if (entry["count"].whole() > 1) out << ", " << entry["count"].text() << " times in that second";
  if (entry["action"].exists()) out << ", action " << entry["action"].text();
  if (entry["degraded"].boolean()) out << ", " << terminal.paint(Colour::yellow, "decided without the store");
  out << '\n';
  const bool penalized = entry["reason"].text() == "penalized";
  for (const JsonView rule : entry["rules"].items()) {
    out << "            " << (rule["allowed"].boolean() ? "allows " : terminal.paint(Colour::red, "denies "))
        << rule["rule"].text() << " (" << rule["subject"].text() << "): " << state_text(rule, lookup);
    if (rule["retry_after_ms"].whole() > 0) {
      const bool by_penalty = penalized && rule["rule"].text() == entry["rule"].text();
      out << (by_penalty ? ", penalty ends after " : ", free again after ")
          << duration_for_people(rule["retry_after_ms"].whole());
    }
    if (rule["mode"].text() != "enforce") out << ", " << rule["mode"].text();
    out << '\n';
  }
}

// "refused by a penalty until 14:05:00"; nothing: the rule has no penalty for this subject.
std::optional<std::string> penalty_of(JsonView lookup, const std::string& rule) {
  for (const JsonView each : lookup["penalties"].items()) {
    if (each["rule"].text() != rule) continue;
    std::string text = each["challenge"].boolean() ? "asked for a challenge by a penalty" : "refused by a penalty";
    if (each["until"].exists()) text += " until " + local_time(each["until"].text());
    return text;
  }
  return std::nullopt;
}

void show_now(JsonView lookup, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  out << "now         "
      << (lookup["allowed"].boolean() ? terminal.paint(Colour::green, "would be allowed")
                                      : terminal.paint(Colour::red, "would be denied"))
      << ": " << lookup["reason"].text() << '\n';
  for (const JsonView rule : lookup["rules"].items()) {
    const std::optional<std::string> penalty = penalty_of(lookup, rule["rule"].text());
    out << "            " << rule["rule"].text() << ": ";
    if (rule["limit"].exists()) {
      out << rule["used"].text() << " of " << rule["capacity"].text() << " used";
      if (rule["retry_at"].exists() && !penalty) out << ", free again at " << local_time(rule["retry_at"].text());
      out << "; ";
    }
    if (penalty) out << *penalty << "; ";
    out << rule["explanation"].text() << '\n';
  }
  const std::size_t others = lookup["not_matched"].items().size();
  if (others > 0) out << "            " << others << " other rules do not apply\n";
}

// The query of the denials that were asked for.
Result<std::string> denials_query(const WhyOptions& options, const std::vector<Attribute>& attributes) {
  std::string query = "?outcome=denied&limit=" + std::to_string(options.limit) + attribute_query(attributes);
  if (!options.rule.empty()) query += "&rule=" + percent_encoded(options.rule);
  if (options.at.empty()) return query;
  const Result<std::int64_t> at = parse_moment(options.at, std::time(nullptr));
  if (!at.ok()) return at.failure();
  return query + "&from=" + rfc3339_seconds(at.value() - options.within) +
         "&to=" + rfc3339_seconds(at.value() + options.within);
}

int why(const WhyOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir why", options.json, failure, admin_hint_for(failure));
  };
  const Result<AttributeArgs> args = AttributeArgs::parse(options.words);
  if (!args.ok()) return fail(args.failure());
  const std::vector<Attribute> attributes = args.value().attributes();
  const Result<std::string> query = denials_query(options, attributes);
  if (!query.ok()) return fail(query.failure());
  Result<ServerTarget> target = admin_target(options.server, terminal);
  if (!target.ok()) return fail(target.failure());
  AdminClient client(std::move(target).value());
  const Result<AdminAnswer> denials = client.look("/decisions" + query.value());
  if (!denials.ok()) return fail(denials.failure());
  const Result<AdminAnswer> now =
      client.ask("/subjects/lookup", "{\"attributes\":" + attributes_json(attributes) + "}");
  if (!now.ok()) return fail(now.failure());
  const std::vector<JsonView> found = denials.value().view()["items"].items();
  if (options.json) {
    terminal.out << "{\"decisions\":" << denials.value().text << ",\"now\":" << now.value().text << "}\n";
    return found.empty() ? kExitDenied : kExitAllowed;
  }
  for (const JsonView entry : found) show_denial(entry, now.value().view(), terminal);
  if (found.empty()) {
    terminal.out << "no denial of such a request is in the journal" << (options.at.empty() ? "" : " at that time")
                 << '\n';
  } else if (denials.value().view()["next"].exists()) {
    terminal.out << "            … and more before that; --limit shows them\n";
  }
  show_now(now.value().view(), terminal);
  return found.empty() ? kExitDenied : kExitAllowed;
}

}  // namespace

void add_why(CLI::App& parent, Session& session) {
  Command verb(parent, "why", "Show why requests were denied, and what every rule would decide now");
  const auto options = std::make_shared<WhyOptions>();
  verb.words("attributes", options->words, "Attributes of the requests, name=value each").required();
  verb.text("--at", options->at, "Only around this time: 14:03, 14:03:20, 10m (ago) or 2026-11-18T14:03:20Z")
      .value("TIME");
  verb.integer("--within", options->within, 1, 86'400, "Seconds before and after --at").value("SECONDS");
  verb.text("--rule", options->rule, "Only denials by this rule").value("ID");
  verb.integer("--limit", options->limit, 1, 1000, "Maximum number of denials to show").value("COUNT");
  verb.flag("--json", options->json, "Print the server's JSON answers, and errors as {\"error\":{…}}");
  add_admin_options(verb, options->server);
  verb.footer(
      "Times are shown in the local time zone. The journal keeps what "
      "fits into journal.memory.\nExit codes: 0 found, 1 no such denial, "
      "2 bad input, 3 the server cannot be reached or "
      "refused.\n\nExamples:\n  weir why tenant=acme\n  weir why "
      "tenant=acme action=export --at 14:03\n  weir why api_key=k1 --at "
      "10m --within 300 --json");
  verb.action(session, [&session, options] { return why(*options, session.terminal); });
}

}  // namespace weir::cli
