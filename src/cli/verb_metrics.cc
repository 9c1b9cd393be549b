#include <memory>
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "observe/metric_table.h"

namespace weir::cli {
namespace {

int metrics(bool json, const Terminal& terminal) {
  if (json) {
    terminal.out << observe::metric_tables_json() << '\n';
    return kExitAllowed;
  }
  const observe::MetricRow* last = nullptr;
  for (const observe::MetricRow& row : observe::metric_table()) {
    if (last == nullptr || last->group != row.group) {
      terminal.out << (last == nullptr ? "" : "\n")
                   << terminal.paint(Colour::bold, observe::metric_group_name(row.group)) << '\n';
    }
    last = &row;
    std::string name(row.name);
    if (!row.labels.empty()) name += "{" + std::string(row.labels) + "}";
    terminal.out << "  " << name << "  " << terminal.paint(Colour::faint, observe::metric_kind_name(row.kind))
                 << "\n      " << row.help;
    if (!row.when.empty()) terminal.out << " (" << row.when << ")";
    terminal.out << '\n';
  }
  return kExitAllowed;
}

}  // namespace

void add_metrics(CLI::App& parent, Session& session) {
  Command verb(parent, "metrics", "List every metric that a server has");
  const auto json = std::make_shared<bool>(false);
  verb.flag("--json", *json, "For machines: metrics, panels of the dashboards, and alerts");
  verb.footer(
      "Exit codes: 0.\n\n"
      "Examples:\n"
      "  weir metrics\n"
      "  weir metrics --json");
  verb.action(session, [&session, json] { return metrics(*json, session.terminal); });
}

}  // namespace weir::cli
