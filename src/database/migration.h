// Migrations: the versioned steps that bring a database's tables to what the program expects.
//
//   const Migration kSteps[] = {{"ledger", 1, "accounts", sqlite_sql, postgres_sql}};
//   Result<std::vector<AppliedMigration>> done = migrate(session, kSteps, now);    // inside one transaction
//
// Each component (the ledger, the control plane) numbers its own migrations from 1. A migration that has been released
// is never edited: its checksum is kept with it and compared. All pending ones run in one transaction, under a lock
// that nodes starting at the same time wait for; so they happen once, and wholly or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "weir/time.h"

namespace weir::database {

struct Migration {
  std::string_view component;
  std::int64_t version;
  std::string_view name;
  std::string_view sqlite;
  std::string_view postgres;

  std::string_view sql(Dialect dialect) const { return dialect == Dialect::sqlite ? sqlite : postgres; }
};

// What a database says about one that has run.
struct AppliedMigration {
  std::string component;
  std::int64_t version = 0;
  std::string name;
  std::string checksum;
  TimePoint at;
};

struct MigrationPlan {
  std::vector<AppliedMigration> applied;  // by component and version
  std::vector<Migration> pending;         // in the order in which they run
};

std::string checksum(std::string_view sql);

// What has run and what is to run. Changes nothing, also in an empty database. Failures: those of the session;
// failed_precondition (the database was made by a newer program, or a migration was edited).
Result<MigrationPlan> plan_migrations(Session& session, std::span<const Migration> known);

// Runs what is pending and returns it. In a transaction that writes.
Result<std::vector<Migration>> migrate(Session& session, std::span<const Migration> known, TimePoint now);

// The same in a transaction of its own, and without one.
Result<std::vector<Migration>> migrate(Database& database, std::span<const Migration> known, TimePoint now);
Result<MigrationPlan> plan_migrations(Database& database, std::span<const Migration> known);

// The SQL of migrations, with a line before each that names it.
std::string migration_script(std::span<const Migration> migrations, Dialect dialect);

}  // namespace weir::database
