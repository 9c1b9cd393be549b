// `weir status`: a server at a glance, for people and for scripts.
#include <memory>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/overview_view.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct StatusOptions {
  bool json = false;
  ServerOptions server;
};

void show_status(const Overview& now, const std::vector<std::string>& troubles, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  out << terminal.paint(Colour::bold, now.node) << "  "
      << (!troubles.empty()   ? terminal.paint(Colour::red, "trouble")
          : now.is_shedding() ? terminal.paint(Colour::yellow, "shedding")
                              : terminal.paint(Colour::green, "ok"))
      << '\n';
  out << "decisions  " << decisions_text(now, ", ") << '\n';
  char times[64];
  std::snprintf(times, sizeof times, "p50 %.3g ms, p99 %.3g ms", now.p50_ms, now.p99_ms);
  out << "answers    " << times << '\n';
  out << "store      " << now.store << ", breaker " << now.breaker << ", " << count_text(now.store_keys) << " keys in "
      << bytes_text(now.store_bytes) << (now.store == "memory" ? "" : " (estimated)") << '\n';
  out << "database   " << now.database << (now.database_ok ? "" : ": " + now.database_detail) << '\n';
  out << "rules      version " << now.rules_version << '\n';
  for (const RuleRow& rule : now.rules) {
    if (rule.denied < 0.05) continue;
    out << "denies     " << rule.rule << ": " << rate_text(rule.denied) << "/s\n";
  }
  for (const std::string& each : troubles) out << terminal.paint(Colour::red, "trouble    ") << each << '\n';
}

int status(const StatusOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir status", options.json, failure, admin_hint_for(failure));
  };
  Result<ServerTarget> target = admin_target(options.server, terminal);
  if (!target.ok()) return fail(target.failure());
  const Result<AdminAnswer> answer = AdminClient(std::move(target).value()).look("/overview");
  if (!answer.ok()) return fail(answer.failure());
  const Overview now = read_overview(answer.value().view());
  const std::vector<std::string> troubles = now.troubles();
  if (options.json) {
    terminal.out << answer.value().text << '\n';
  } else {
    show_status(now, troubles, terminal);
  }
  return troubles.empty() ? kExitAllowed : kExitDenied;
}

}  // namespace

void add_status(CLI::App& parent, Session& session) {
  Command verb(parent, "status", "Show the health and the rates of a server");
  const auto options = std::make_shared<StatusOptions>();
  verb.flag("--json", options->json, "Print the server's JSON answer, and errors as {\"error\":{…}}");
  add_admin_options(verb, options->server);
  verb.footer(
      "Exit codes: 0 all is well, 1 the store or the database "
      "does not answer or the rules are invalid, 2 bad input,\n3 "
      "the server cannot be reached or refused.\n\nExamples:\n  "
      "weir status\n  weir status --admin http://10.0.0.7:8082 "
      "--json");
  verb.action(session, [&session, options] { return status(*options, session.terminal); });
}

}  // namespace weir::cli
