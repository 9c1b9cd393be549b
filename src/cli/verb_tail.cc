// `weir tail`: decisions as they are made.
#include <memory>
#include <ostream>

#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/moment.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct TailOptions {
  std::vector<std::string> words;
  std::string rule;
  std::string reason;
  std::string outcome;
  std::int64_t count = 0;
  bool json = false;
  ServerOptions server;
};

// The server says at least every 15 s that it is alive.
constexpr double kLongestSilence = 40;

void show_line(JsonView entry, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  const bool allowed = entry["allowed"].boolean();
  const bool shadow = entry["shadow_denied"].boolean();
  out << local_time(entry["at"].text()) << "  "
      << (allowed ? terminal.paint(shadow ? Colour::yellow : Colour::green, shadow ? "shadow " : "allowed")
                  : terminal.paint(Colour::red, "denied "))
      << "  " << padded(entry["rule"].exists() ? entry["rule"].text() : "-", 24);
  if (!allowed) out << "  " << entry["reason"].text();
  if (entry["count"].whole() > 1) out << " ×" << entry["count"].text();
  for (const auto& [name, value] : entry["attributes"].members()) {
    out << "  " << terminal.paint(Colour::faint, name + "=" + value.text());
  }
  out << std::endl;  // seen at once, also through a pipe
}

int tail(const TailOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir tail", options.json, failure, admin_hint_for(failure));
  };
  const Result<AttributeArgs> args = AttributeArgs::parse(options.words);
  if (!args.ok()) return fail(args.failure());
  ServerOptions server = options.server;
  server.timeout_s = std::max(server.timeout_s, kLongestSilence);
  Result<ServerTarget> target = admin_target(server, terminal);
  if (!target.ok()) return fail(target.failure());
  std::string query = attribute_query(args.value().attributes());
  if (!options.rule.empty()) query += "&rule=" + percent_encoded(options.rule);
  if (!options.reason.empty()) query += "&reason=" + percent_encoded(options.reason);
  if (!options.outcome.empty()) query += "&outcome=" + options.outcome;
  if (!query.empty()) query[0] = '?';
  std::int64_t seen = 0;
  const Status ended = AdminClient(std::move(target).value())
                           .follow("/decisions/stream" + query, [&](std::string_view event, std::string_view data) {
                             const Result<admin::Json> json = admin::Json::parse_object(data);
                             if (!json.ok()) return true;
                             const JsonView view(&json.value());
                             if (event == "dropped") {
                               terminal.err << "weir tail: " << view["n"].text() << " decisions were skipped\n";
                               return true;
                             }
                             if (options.json) {
                               terminal.out << data << std::endl;
                             } else {
                               show_line(view, terminal);
                             }
                             return terminal.out.good() && ++seen != options.count;
                           });
  return ended.ok() ? static_cast<int>(kExitAllowed) : fail(ended.failure());
}

}  // namespace

void add_tail(CLI::App& parent, Session& session) {
  Command verb(parent, "tail", "Show decisions as they are made");
  const auto options = std::make_shared<TailOptions>();
  verb.words("attributes", options->words, "Only requests with these attributes, name=value each");
  verb.text("--rule", options->rule, "Only those that this rule counts").value("ID");
  verb.text("--reason", options->reason, "Only those with this reason, such as limit_exceeded").value("REASON");
  verb.choice("--outcome", options->outcome, {"allowed", "denied", "shadow"}, "Only those with this outcome");
  verb.integer("--count", options->count, 0, 1'000'000'000, "Stop after this many; 0: never").value("COUNT");
  verb.flag("--json", options->json, "Print one JSON object per line");
  add_admin_options(verb, options->server);
  verb.footer("Shows every denial, and the sample of allowed decisions that the journal keeps (journal.sample).\n" +
              std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir tail\n"
              "  weir tail tenant=acme --outcome denied\n"
              "  weir tail --rule search-per-key --json | jq .attributes");
  verb.action(session, [&session, options] { return tail(*options, session.terminal); });
}

}  // namespace weir::cli
