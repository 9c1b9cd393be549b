// weir quota exported and prune: how far entries are kept elsewhere, and removing what is too old.
#include <chrono>
#include <ostream>

#include "cli/command.h"
#include "cli/database_option.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/local_database.h"
#include "cli/verbs.h"
#include "control/audit_trail.h"
#include "ledger/retention.h"
#include "rules/read/yaml_values.h"

namespace weir::cli {
namespace {

using database::Access;
using database::Database;
using database::Outcome;

struct RetentionOptions {
  DatabaseOption where;
  std::string keep;
  std::string reason;
  std::int64_t exported = -1;  // -1: as it was noted
  bool dry_run = false;
  bool json = false;
};

TimePoint wall_time() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

control::AuditEntry audit_entry(std::string action, std::string after, const RetentionOptions& options, TimePoint now) {
  control::AuditEntry entry;
  entry.at = now;
  entry.actor = local_actor().name;
  entry.action = std::move(action);
  entry.object = "ledger";
  entry.after = std::move(after);
  entry.reason = options.reason;
  return entry;
}

int note_exported(const RetentionOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir quota exported", options.json, failure);
  };
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return fail(database.failure());
  const TimePoint now = wall_time();
  std::int64_t noted = 0;
  const Outcome outcome = database.value()->run(Access::write, [&](database::Session& session) -> Status {
    if (Status done = ledger::note_exported(session, options.exported, local_actor().name, now); !done.ok())
      return done;
    const Result<std::int64_t> up_to = ledger::exported_up_to(session);
    if (!up_to.ok()) return up_to.failure();
    noted = up_to.value();
    return control::append(session,
                           audit_entry("quota.exported", "{\"cursor\":" + std::to_string(noted) + "}", options, now));
  });
  if (!outcome.ok()) return fail(outcome.status.failure());
  if (options.json) {
    terminal.out << "{\"cursor\":" << noted << "}\n";
  } else {
    terminal.out << "entries up to " << noted << " are archived\n";
  }
  return kExitAllowed;
}

// The cursor that was given, or that was noted.
Result<std::int64_t> cursor_of(Database& database, const RetentionOptions& options) {
  if (options.exported >= 0) return options.exported;
  std::int64_t cursor = 0;
  const Outcome outcome = database.run(Access::read, [&](database::Session& session) -> Status {
    const Result<std::int64_t> noted = ledger::exported_up_to(session);
    if (!noted.ok()) return noted.failure();
    cursor = noted.value();
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  return cursor;
}

int prune_ledger(const RetentionOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir quota prune", options.json, failure);
  };
  const Result<Duration> keep = rules::parse_duration(options.keep);
  if (!keep.ok()) return fail({Code::invalid_argument, "--keep: " + keep.failure().message});
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return fail(database.failure());
  const Result<std::int64_t> cursor = cursor_of(*database.value(), options);
  if (!cursor.ok()) return fail(cursor.failure());
  const TimePoint now = wall_time();
  const ledger::Retention retention{
      .before = now - keep.value(), .exported = cursor.value(), .dry_run = options.dry_run};
  const auto audit = [&](database::Session& session, const ledger::Pruned& sums) {
    const std::string after = "{\"accounts\":" + std::to_string(sums.accounts) +
                              ",\"entries\":" + std::to_string(sums.entries) +
                              ",\"exported\":" + std::to_string(cursor.value()) + "}";
    return control::append(session, audit_entry("quota.prune", after, options, now));
  };
  const Result<ledger::Pruned> pruned = ledger::prune(*database.value(), retention, now, audit);
  if (!pruned.ok()) return fail(pruned.failure());
  const ledger::Pruned& sums = pruned.value();
  if (options.json) {
    terminal.out << "{\"accounts\":" << sums.accounts << ",\"entries\":" << sums.entries
                 << ",\"not_exported\":" << sums.unexported << "}\n";
  } else {
    terminal.out << (options.dry_run ? "would remove " : "removed ") << sums.entries << " entries of " << sums.accounts
                 << " accounts";
    if (sums.unexported > 0) terminal.out << "; " << sums.unexported << " have entries that were not exported";
    terminal.out << '\n';
  }
  return sums.unexported == 0 ? kExitAllowed : kExitDenied;
}

}  // namespace

void add_quota_exported(CLI::App& parent, Session& session) {
  const auto options = std::make_shared<RetentionOptions>();
  Command verb(parent, "exported", "Record that entries are archived elsewhere, so that old ones may be removed");
  verb.integer("cursor", options->exported, 0, std::int64_t{1} << 62,
               "The cursor that a `weir quota export` without filters has printed")
      .value("CURSOR")
      .required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT");
  options->where.add_to(verb);
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(
      "Servers with quota.keep, and `weir quota prune`, remove only entries up to it. A cursor that is not beyond the "
      "last one changes nothing.\n"
      "Exit codes: 0 done, 2 bad input, 3 failed.\n\n"
      "Examples:\n  weir quota export > entries.ndjson 2> cursor\n"
      "  weir quota exported 81234 --reason \"invoices of March\"");
  verb.action(session, [options, &session] { return note_exported(*options, session.terminal); });
}

void add_quota_prune(CLI::App& parent, Session& session) {
  const auto options = std::make_shared<RetentionOptions>();
  Command verb(parent, "prune", "Remove entries of periods that ended long ago and were exported");
  verb.text("--keep", options->keep, "Periods that ended within this time stay, such as 400d; at least 1d")
      .value("DURATION")
      .required();
  verb.integer("--exported", options->exported, 0, std::int64_t{1} << 62,
               "The cursor that the last `weir quota export` printed: only entries up to it are removed. Default: the "
               "cursor that `weir quota exported` has recorded")
      .value("CURSOR");
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  verb.flag("--dry-run", options->dry_run, "Only show what would be removed");
  options->where.add_to(verb);
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(
      "The totals of each account stay in the archive table. Open periods, held units and unused "
      "grants are never removed. A server with quota.keep does the same by itself.\nExit codes: 0 "
      "done, 1 some accounts were not exported yet, 2 bad input, 3 failed.\n\nExamples:\n  weir quota "
      "export > entries.ndjson 2> cursor\n  weir quota prune --keep 400d --exported 81234 --reason "
      "\"retention\"");
  verb.action(session, [options, &session] { return prune_ledger(*options, session.terminal); });
}

}  // namespace weir::cli
