// `weir audit`: the audit trail of a server.
#include <memory>
#include <ostream>

#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct AuditOptions {
  AdminOptions admin;
  std::string actor;
  std::string action;
  std::string object;
  std::string from;
  std::string to;
  bool lines = false;
};

std::string audit_path(const AuditOptions& options) {
  std::string query;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    query += (query.empty() ? "?" : "&") + std::string(name) + "=" + percent_encoded(value);
  };
  add("actor", options.actor);
  add("action", options.action);
  add("object", options.object);
  add("from", options.from);
  add("to", options.to);
  if (options.lines) add("format", "ndjson");
  return "/audit" + query;
}

int show_audit(const AuditOptions& options, const Terminal& terminal) {
  Result<AdminClient> client = AdminClient::connect(options.admin, terminal);
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir audit", options.admin.json, failure, admin_hint_for(failure));
  };
  if (!client.ok()) return fail(client.failure());
  if (options.lines) {
    const Result<std::string> lines = client.value().get(audit_path(options));
    if (!lines.ok()) return fail(lines.failure());
    terminal.out << lines.value();
    return kExitAllowed;
  }
  const Result<std::vector<std::string>> items = client.value().list(audit_path(options));
  if (!items.ok()) return fail(items.failure());
  const auto member = [](const std::string& title, const std::string& name) -> Column {
    return {title, [name](const std::string& item) { return member_text(item, name); }};
  };
  show_items(terminal, options.admin.json, items.value(),
             {member("AT", "at"), member("ACTOR", "actor"), member("FROM", "from"), member("ACTION", "action"),
              member("OBJECT", "object"), member("REASON", "reason")},
             "nothing was changed");
  return kExitAllowed;
}

}  // namespace

void add_audit(CLI::App& parent, Session& session) {
  Command verb(parent, "audit", "Show who changed what on a server, newest first");
  const auto options = std::make_shared<AuditOptions>();
  verb.text("--actor", options->actor, "Only changes by this name").value("NAME");
  verb.text("--action", options->action, "Only this action, or all of a kind: token, token.create").value("NAME");
  verb.text("--object", options->object, "Only this object, or all of a kind: token/tok_…, token").value("NAME");
  verb.text("--from", options->from, "Only changes from this time on").value("TIME");
  verb.text("--to", options->to, "Only changes up to this time").value("TIME");
  verb.flag("--ndjson", options->lines, "One JSON object on each line, for exports");
  add_admin_options(verb, options->admin);
  verb.footer(std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir audit --action rules\n"
              "  weir audit --from 2026-11-01T00:00:00Z --ndjson > november.ndjson");
  verb.action(session, [&session, options] { return show_audit(*options, session.terminal); });
}

}  // namespace weir::cli
