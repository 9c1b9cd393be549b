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
  const bool shadow = member_text(json, "kind") == "shadow";
  out << terminal.paint(Colour::bold, shown(member_text(json, "rule"))) << "  "
      << (shadow ? "in shadow mode: " : "candidate: ") << shown(member_text(json, "summary")) << '\n';
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

void add_end(CLI::App& parent, Session& session, const std::string& name, const std::string& help,
             const std::string& done) {
  Command verb(parent, name, help);
  const auto options = std::make_shared<CandidateOptions>();
  verb.word("rule", options->rule, "The id of the rule").required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  add_admin_options(verb, options->admin);
  verb.footer("Needs rules in the database (`rules: database`). With rules in a file it says what to change there.\n" +
              std::string(kServerExitCodes) + "Examples:\n  weir rules candidate " + name +
              " search-per-key --reason 'a week without complaints'");
  verb.action(session, [&session, options, name, done] {
    return run_admin(
        session.terminal, "weir rules candidate " + name, options->admin,
        [&](AdminClient& client) {
          JsonObject body;
          body.text("reason", options->reason);
          return client.post(candidate_path(*options, "/" + name), body.take());
        },
        [&](const std::string& answer) {
          session.terminal.out << session.terminal.paint(Colour::green, done) << ": version "
                               << member_text(answer, "version") << " of the rules\n";
        });
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
