#include "database/migration.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir::database {
namespace {

constexpr std::string_view kTable =
    "CREATE TABLE IF NOT EXISTS weir_migration (component TEXT NOT NULL, version BIGINT NOT NULL, name TEXT NOT NULL,"
    " checksum TEXT NOT NULL, applied_at BIGINT NOT NULL, PRIMARY KEY (component, version))";

const Statement kSqliteHasTable{"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'weir_migration'"};
const Statement kPostgresHasTable{"SELECT 1 WHERE to_regclass('weir_migration') IS NOT NULL"};
const Statement kApplied{
    "SELECT component, version, name, checksum, applied_at FROM weir_migration ORDER BY component, version"};
const Statement kRecord{
    "INSERT INTO weir_migration (component, version, name, checksum, applied_at) VALUES ($1, $2, $3, $4, $5)"};
// Any number that no other program uses for this.
const Statement kLock{"SELECT pg_advisory_xact_lock(7761697200000001)"};

std::string named(std::string_view component, std::int64_t version, std::string_view name) {
  return std::string(component) + " " + std::to_string(version) + " (" + std::string(name) + ")";
}

const Migration* find(std::span<const Migration> known, const AppliedMigration& applied) {
  const auto found = std::find_if(known.begin(), known.end(), [&applied](const Migration& each) {
    return each.component == applied.component && each.version == applied.version;
  });
  return found == known.end() ? nullptr : &*found;
}

Result<std::vector<AppliedMigration>> applied_in(Session& session) {
  const Statement& has_table = session.dialect() == Dialect::sqlite ? kSqliteHasTable : kPostgresHasTable;
  const Result<Rows> table = session.run(has_table);
  if (!table.ok()) return table.failure();
  std::vector<AppliedMigration> applied;
  if (table.value().empty()) return applied;
  const Result<Rows> rows = session.run(kApplied);
  if (!rows.ok()) return rows.failure();
  for (const Row& row : rows.value()) {
    applied.push_back({text(row[0]), number(row[1]), text(row[2]), text(row[3]), from_micros(number(row[4]))});
  }
  return applied;
}

}  // namespace

// FNV-1a: it tells an edited text from the original, and protects against nothing.
std::string checksum(std::string_view sql) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : sql) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string digits(16, '0');
  base::write_hex(digits.data(), hash);
  return digits;
}

Result<MigrationPlan> plan_migrations(Session& session, std::span<const Migration> known) {
  Result<std::vector<AppliedMigration>> applied = applied_in(session);
  if (!applied.ok()) return applied.failure();
  MigrationPlan plan{std::move(applied).value(), {}};
  for (const AppliedMigration& each : plan.applied) {
    const Migration* migration = find(known, each);
    if (migration == nullptr) {
      return Failure{Code::failed_precondition, "the database has migration " +
                                                    named(each.component, each.version, each.name) +
                                                    ", which this program does not know; use the newer program"};
    }
    if (checksum(migration->sql(session.dialect())) != each.checksum) {
      return Failure{Code::failed_precondition, "migration " + named(each.component, each.version, each.name) +
                                                    " ran with other SQL than this program has for it"};
    }
  }
  for (const Migration& each : known) {
    const bool ran =
        std::any_of(plan.applied.begin(), plan.applied.end(), [&each](const AppliedMigration& applied_one) {
          return applied_one.component == each.component && applied_one.version == each.version;
        });
    if (!ran) plan.pending.push_back(each);
  }
  return plan;
}

Result<std::vector<Migration>> migrate(Session& session, std::span<const Migration> known, TimePoint now) {
  if (session.dialect() == Dialect::postgres) {
    if (const Result<Rows> locked = session.run(kLock); !locked.ok()) return locked.failure();
  }
  Result<MigrationPlan> plan = plan_migrations(session, known);
  if (!plan.ok()) return plan.failure();
  if (plan.value().pending.empty()) return std::vector<Migration>();
  if (Status made = session.run_script(std::string(kTable)); !made.ok()) return made.failure();
  for (const Migration& each : plan.value().pending) {
    const std::string sql(each.sql(session.dialect()));
    if (const Status ran = session.run_script(sql); !ran.ok()) {
      return Failure{ran.failure().code,
                     "migration " + named(each.component, each.version, each.name) + ": " + ran.failure().message};
    }
    const Result<Rows> recorded = session.run(kRecord, std::string(each.component), each.version,
                                              std::string(each.name), checksum(sql), micros(now));
    if (!recorded.ok()) return recorded.failure();
  }
  return std::move(plan.value().pending);
}

Result<std::vector<Migration>> migrate(Database& database, std::span<const Migration> known, TimePoint now) {
  std::vector<Migration> ran;
  const Outcome outcome = database.run(Access::write, [&](Session& session) -> Status {
    Result<std::vector<Migration>> done = migrate(session, known, now);
    if (!done.ok()) return done.failure();
    ran = std::move(done).value();
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  return ran;
}

Result<MigrationPlan> plan_migrations(Database& database, std::span<const Migration> known) {
  MigrationPlan plan;
  const Outcome outcome = database.run(Access::read, [&](Session& session) -> Status {
    Result<MigrationPlan> planned = plan_migrations(session, known);
    if (!planned.ok()) return planned.failure();
    plan = std::move(planned).value();
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  return plan;
}

std::string migration_script(std::span<const Migration> migrations, Dialect dialect) {
  std::string script;
  for (const Migration& each : migrations) {
    script +=
        "-- " + named(each.component, each.version, each.name) + ", checksum " + checksum(each.sql(dialect)) + "\n";
    script += each.sql(dialect);
    if (script.back() != '\n') script += '\n';
  }
  return script;
}

}  // namespace weir::database
