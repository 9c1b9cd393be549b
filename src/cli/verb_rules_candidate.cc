// `weir rules candidate show|promote|discard`: what other numbers of a rule would have changed, and what becomes of
// them.
#include <memory>
#include <ostream>

#include "admin/json.h"
#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/moment.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct CandidateOptions {
  AdminOptions admin;
  std::string rule;
  std::string reason;
};

std::string candidate_path(const CandidateOptions& options, std::string_view verb = {}) {
  return "/rules/" + percent_encoded(options.rule) + "/candidate" + std::string(verb);
}

void show_report(const Terminal& terminal, const std::string& json) {
  std::ostream& out = terminal.out;
  const auto count = [&](std::string_view name) { return member_text(json, name); };
  const std::string kind = member_text(json, "kind");
  const bool adaptive = kind == "adaptive";
  const bool shadow = kind == "shadow";
  out << terminal.paint(Colour::bold, shown(member_text(json, "rule"))) << "  "
      << (adaptive ? "enforced: "
          : shadow ? "in shadow mode: "
                   : "candidate: ")
      << shown(member_text(json, "summary")) << '\n';
  if (adaptive) return;
  if (count("requests") == "0") {
    out << "nothing compared so far";
    if (!shadow) out << "; " << count("warming") << " requests while it warms up, until " << count("warming_until");
    out << '\n';
    return;
  }
  out << "compared      " << count("requests") << " requests since " << local_time(count("since")) << '\n';
  out << "would deny    " << count("would_deny") << " that pass now\n";
  if (!shadow) out << "would allow   " << count("would_allow") << " that are denied now\n";
  Result<admin::Json> parsed = admin::Json::parse_object(json);
  if (!parsed.ok()) return;
  for (const JsonView& each : JsonView(&parsed.value())["subjects"].items()) {
    const std::string text = each["text"].exists() ? "  " + each["text"].text() : "";
    out << "  " << each["subject"].text() << text << "  " << each["would_deny"].whole() << " more denied, "
        << each["would_allow"].whole() << " more allowed\n";
  }
}

Failure refusal_of(const CandidateOptions& options, const HttpAnswer& answer) {
  constexpr int kStale = 412;
  if (answer.status == kStale) {
    return {Code::failed_precondition,
            "the rules were changed at the same time, and nothing was done; look at the candidate again with "
            "`weir rules candidate show " +
                shown(options.rule) + "`, and repeat the command if it is still right"};
  }
  const std::string detail = shown(member_text(answer.body, "detail"));
  const std::string message = detail.empty() ? "the server answered " + std::to_string(answer.status) : detail;
  if (answer.status == 400) return {Code::invalid_argument, message};
  if (answer.status == 401) return {Code::unauthenticated, message};
  if (answer.status == 403) return {Code::permission_denied, message};
  if (answer.status == 404) return {Code::not_found, message};
  return {answer.status < 500 ? Code::failed_precondition : Code::unavailable, message};
}

// Changes the version of the rules that it has read. `text`: what the file should have, if the rules come from one.
Result<std::string> end_candidate(const Terminal& terminal, const CandidateOptions& options, const std::string& verb,
                                  std::string& text) {
  Result<ServerTarget> target = admin_target(options.admin.server, terminal);
  if (!target.ok()) return target.failure();
  const Result<std::string> seen = AdminClient(target.value()).get(candidate_path(options));
  if (!seen.ok()) return seen;
  JsonObject body;
  body.text("reason", options.reason);
  HttpClient client(std::move(target).value());
  Result<HttpAnswer> answer = client.request("POST", "/admin/v1" + candidate_path(options, "/" + verb), body.take(),
                                             "If-Match: \"" + member_text(seen.value(), "etag") + "\"\r\n");
  if (!answer.ok()) return answer.failure();
  if (answer.value().status / 100 == 2) return std::move(answer).value().body;
  text = member_text(answer.value().body, "text");
  return refusal_of(options, answer.value());
}

void show_warnings(const Terminal& terminal, const std::string& answer) {
  Result<admin::Json> parsed = admin::Json::parse_object(answer);
  if (!parsed.ok()) return;
  for (const JsonView& each : JsonView(&parsed.value())["warnings"].items()) {
    terminal.err << "warning: " << shown(each.text()) << '\n';
  }
}

// With rules in a file, prints the text that the file should have.
int report_refusal(const Terminal& terminal, const std::string& verb, bool json, const Failure& failure,
                   const std::string& text) {
  if (text.empty() || !json) {
    terminal.out << text;
    return report_failure(terminal, verb, json, failure, admin_hint_for(failure));
  }
  JsonObject error;
  error.text("code", code_name(failure.code));
  error.text("message", failure.message);
  error.text("text", text);
  terminal.out << "{\"error\":" << error.take() << "}\n";
  return kExitFailed;
}

void add_end(CLI::App& parent, Session& session, const std::string& name, const std::string& help,
             const std::string& done) {
  Command verb(parent, name, help);
  const auto options = std::make_shared<CandidateOptions>();
  verb.word("rule", options->rule, "The id of the rule").required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  add_admin_options(verb, options->admin);
  verb.footer(
      "Needs rules in the database (`rules: database`). With rules in a file it prints the text that the file "
      "should have, and exits with 3.\n" +
      std::string(kServerExitCodes) + "Examples:\n  weir rules candidate " + name +
      " search-per-key --reason 'a week without complaints'");
  verb.action(session, [&session, options, name, done]() -> int {
    const Terminal& terminal = session.terminal;
    const bool json = options->admin.json;
    const std::string verb_name = "weir rules candidate " + name;
    std::string text;
    const Result<std::string> answer = end_candidate(terminal, *options, name, text);
    if (!answer.ok()) return report_refusal(terminal, verb_name, json, answer.failure(), text);
    if (json) {
      terminal.out << answer.value() << '\n';
      return kExitAllowed;
    }
    terminal.out << terminal.paint(Colour::green, done) << ": version " << member_text(answer.value(), "version")
                 << " of the rules\n";
    show_warnings(terminal, answer.value());
    return kExitAllowed;
  });
}

}  // namespace

void add_rules_candidate(CLI::App& parent, Session& session) {
  Command candidate(parent, "candidate",
                    "Show what a rule's candidate numbers would change, and promote or discard them");
  candidate.requires_verb();
  Command verb(candidate.app(), "show", "Show what the candidate of a rule, or a rule in shadow mode, would change");
  const auto options = std::make_shared<CandidateOptions>();
  verb.word("rule", options->rule, "The id of the rule").required();
  add_admin_options(verb, options->admin);
  verb.footer("The figures are those of one node.\n" + std::string(kServerExitCodes) +
              "Examples:\n  weir rules candidate show search-per-key");
  verb.action(session, [&session, options] {
    return run_admin(
        session.terminal, "weir rules candidate show", options->admin,
        [&](AdminClient& client) { return client.get(candidate_path(*options)); },
        [&](const std::string& answer) { show_report(session.terminal, answer); });
  });
  add_end(candidate.app(), session, "promote", "Make the candidate's numbers the rule's own", "promoted");
  add_end(candidate.app(), session, "discard", "End the comparison", "discarded");
}

}  // namespace weir::cli
