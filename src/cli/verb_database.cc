// weir database: the tables of the server's database, and a copy of it.
#include <filesystem>
#include <ostream>

#include "cli/command.h"
#include "cli/database_option.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "database/migration.h"
#include "database/sqlite/sqlite_connection.h"
#include "server/migrations.h"

namespace weir::cli {
namespace {

using database::Access;
using database::Database;

struct DatabaseOptions {
  DatabaseOption where;
  bool json = false;
  bool print = false;
  std::string to;
};

constexpr const char* kExitCodes = "Exit codes: 0 done, 1 migrations are pending, 2 bad input, 3 failed.\n\n";

TimePoint system_now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

int show_status(const DatabaseOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir database status", options.json, failure);
  };
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return fail(database.failure());
  const auto known = server::all_migrations();
  const Result<database::MigrationPlan> plan = database::plan_migrations(*database.value(), known);
  if (!plan.ok()) return fail(plan.failure());
  if (options.json) {
    terminal.out << "{\"applied\":" << plan.value().applied.size() << ",\"pending\":" << plan.value().pending.size()
                 << "}\n";
  } else {
    terminal.out << database.value()->shown_name() << '\n';
    for (const auto& each : plan.value().applied) {
      terminal.out << "  " << terminal.paint(Colour::green, "applied") << "  " << each.component << ' ' << each.version
                   << "  " << each.name << '\n';
    }
    for (const auto& each : plan.value().pending) {
      terminal.out << "  " << terminal.paint(Colour::yellow, "pending") << "  " << each.component << ' ' << each.version
                   << "  " << each.name << '\n';
    }
  }
  return plan.value().pending.empty() ? kExitAllowed : kExitDenied;
}

int migrate(const DatabaseOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir database migrate", options.json, failure);
  };
  const auto known = server::all_migrations();
  const Result<std::unique_ptr<Database>> database = options.where.open(/*may_make=*/!options.print);
  if (!database.ok()) return fail(database.failure());
  if (options.print) {
    const Result<database::MigrationPlan> plan = database::plan_migrations(*database.value(), known);
    if (!plan.ok()) return fail(plan.failure());
    terminal.out << database::migration_script(plan.value().pending, database.value()->dialect());
    return kExitAllowed;
  }
  const Result<std::vector<database::Migration>> ran = database::migrate(*database.value(), known, system_now());
  if (!ran.ok()) return fail(ran.failure());
  if (options.json) {
    terminal.out << "{\"applied\":" << ran.value().size() << "}\n";
    return kExitAllowed;
  }
  for (const auto& each : ran.value()) {
    terminal.out << "applied  " << each.component << ' ' << each.version << "  " << each.name << '\n';
  }
  if (ran.value().empty()) terminal.out << "the tables are up to date\n";
  return kExitAllowed;
}

// A consistent copy, also while a server writes.
int back_up(const DatabaseOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir database backup", options.json, failure);
  };
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return fail(database.failure());
  if (database.value()->dialect() == database::Dialect::postgres) {
    return fail({Code::failed_precondition,
                 "PostgreSQL has its own tools: pg_dump for a copy, continuous archiving for recovery to a moment"});
  }
  if (std::filesystem::exists(options.to)) return fail({Code::invalid_argument, options.to + ": exists already"});
  // It is shown as in the settings.
  constexpr std::string_view kScheme = "sqlite:";
  std::string path = database.value()->shown_name();
  if (path.starts_with(kScheme)) path.erase(0, kScheme.size());
  database::SqliteConnection from(path, Access::write);
  if (Status opened = from.open(std::chrono::steady_clock::now() + std::chrono::seconds(30)); !opened.ok()) {
    return fail(opened.failure());
  }
  if (Status copied = from.copy_to(options.to); !copied.ok()) return fail(copied.failure());
  if (options.json) {
    terminal.out << "{\"backup\":true}\n";
  } else {
    terminal.out << "copied to " << shown(options.to) << '\n';
  }
  return kExitAllowed;
}

}  // namespace

void add_database_status(CLI::App& parent, Session& session) {
  auto options = std::make_shared<DatabaseOptions>();
  Command verb(parent, "status", "Show which migrations the database has");
  options->where.add_to(verb);
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(std::string(kExitCodes) + "Examples:\n  weir database status --data-dir /var/lib/weir");
  verb.action(session, [options, &session] { return show_status(*options, session.terminal); });
}

void add_database_migrate(CLI::App& parent, Session& session) {
  auto options = std::make_shared<DatabaseOptions>();
  Command verb(parent, "migrate", "Bring the tables up to date, as the server does when it starts");
  options->where.add_to(verb);
  verb.flag("--print", options->print, "Print the SQL of pending migrations, and change nothing");
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(std::string(kExitCodes) +
              "Examples:\n  weir database migrate --database postgres://weir@db/weir\n  weir database migrate --print");
  verb.action(session, [options, &session] { return migrate(*options, session.terminal); });
}

void add_database_backup(CLI::App& parent, Session& session) {
  auto options = std::make_shared<DatabaseOptions>();
  Command verb(parent, "backup", "Copy an SQLite database, also while a server uses it");
  verb.word("FILE", options->to, "Target file; must not exist").required();
  options->where.add_to(verb);
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(std::string(kExitCodes) +
              "Examples:\n  weir database backup weir-2026-03-01.db --data-dir /var/lib/weir");
  verb.action(session, [options, &session] { return back_up(*options, session.terminal); });
}

}  // namespace weir::cli
