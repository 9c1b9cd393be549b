// weir quota export: what billing needs of the ledger.
#include <ostream>

#include "cli/command.h"
#include "cli/database_option.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "ledger/export.h"

namespace weir::cli {
namespace {

using database::Database;

struct ExportOptions {
  DatabaseOption where;
  ledger::ExportFilter filter;
  std::string format = "ndjson";
};

// The cursor for the next export goes to standard error, because the entries fill standard output.
int export_ledger(const ExportOptions& options, const Terminal& terminal) {
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return report_failure(terminal, "weir quota export", false, database.failure());
  const bool csv = options.format == "csv";
  if (csv) terminal.out << ledger::csv_header();
  ledger::ExportFilter filter = options.filter;
  while (true) {
    const Result<ledger::ExportPage> page = ledger::export_entries(*database.value(), filter);
    if (!page.ok()) return report_failure(terminal, "weir quota export", false, page.failure());
    std::string text;
    for (const ledger::ExportedEntry& entry : page.value().entries) {
      csv ? ledger::append_csv(text, entry) : ledger::append_ndjson(text, entry);
    }
    terminal.out << text << std::flush;
    filter.after = page.value().cursor;
    if (!page.value().more) break;
  }
  if (!terminal.out) return report_failure(terminal, "weir quota export", false, {Code::unavailable, "cannot write"});
  terminal.err << "cursor " << filter.after << '\n';
  return kExitAllowed;
}

}  // namespace

void add_quota_export(CLI::App& parent, Session& session) {
  auto options = std::make_shared<ExportOptions>();
  Command verb(parent, "export", "Print the ledger's entries, each once, for billing");
  verb.choice("--format", options->format, {"ndjson", "csv"}, "ndjson (default) or csv");
  verb.integer("--after", options->filter.after, 0, std::int64_t{1} << 62, "The cursor that the last export printed")
      .value("CURSOR");
  verb.text("--tenant", options->filter.tenant, "Only this tenant").value("NAME");
  verb.text("--rule", options->filter.rule, "Only this rule").value("ID");
  verb.text("--period", options->filter.period, "Only this period, such as 2026-03").value("PERIOD");
  options->where.add_to(verb);
  verb.footer(
      "Entries are printed in a fixed order, each exactly once, even while new ones "
      "arrive. The line\n`cursor N` on standard error says where the next export "
      "begins.\n\nExit codes: 0 done, 2 bad input, 3 failed.\n\nExamples:\n  weir quota "
      "export --period 2026-03 --format csv > march.csv\n  weir quota export --after 4711 "
      ">> ledger.ndjson");
  verb.action(session, [options, &session] { return export_ledger(*options, session.terminal); });
}

}  // namespace weir::cli
