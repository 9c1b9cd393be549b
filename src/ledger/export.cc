#include "ledger/export.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "base/ascii.h"
#include "base/json_text.h"
#include "ledger/rows.h"

namespace weir::ledger {
namespace {

using database::Access;
using database::Dialect;
using database::number;
using database::Outcome;
using database::Row;
using database::Rows;
using database::Session;
using database::Statement;
using database::text;

// No transaction that has drawn a number runs while this one has the lock (schema/0001_ledger.postgres.sql). What is
// asked then is asked in a new statement, because READ COMMITTED sees what was committed before each statement.
const Statement kLock{"SELECT pg_advisory_xact_lock(7761697200000002)"};
const Statement kLast{"SELECT CAST(COALESCE(MAX(seq), 0) AS bigint) FROM ledger_entry"};
const Statement kPage{
    "SELECT e.account, e.version, e.operation, e.reach, e.kind, e.amount, e.about, e.actor, e.reason, e.effective_at,"
    " e.recorded_at, e.seq, a.rule, a.subject, a.period, a.tenant, a.begins_at, a.ends_at"
    " FROM ledger_entry e JOIN ledger_account a ON a.id = e.account WHERE e.seq > $1 AND e.seq <= $2"
    " AND ($3 = '' OR a.tenant = $3) AND ($4 = '' OR a.rule = $4) AND ($5 = '' OR a.period = $5)"
    " ORDER BY e.seq LIMIT $6"};

// The last entry before which nothing can still appear.
Result<std::int64_t> horizon(database::Database& database) {
  std::int64_t last = 0;
  const Outcome outcome = database.run(Access::write, [&](Session& session) -> Status {
    if (session.dialect() == Dialect::postgres) {
      if (const Result<Rows> locked = session.run(kLock); !locked.ok()) return locked.failure();
    }
    const Result<Rows> rows = session.run(kLast);
    if (!rows.ok()) return rows.failure();
    last = number(rows.value()[0][0]);
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  return last;
}

Result<ExportedEntry> exported_of(const Row& row) {
  Result<Entry> entry = entry_of(row);
  if (!entry.ok()) return entry.failure();
  constexpr std::size_t next = kEntryColumns;
  return ExportedEntry{number(row[next]),
                       std::move(entry).value(),
                       {text(row[next + 1]), text(row[next + 2]), text(row[next + 3])},
                       text(row[next + 4]),
                       from_micros(number(row[next + 5])),
                       from_micros(number(row[next + 6]))};
}

std::string time_text(TimePoint time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char written[40];
  std::snprintf(written, sizeof written, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return written;
}

// The columns of both formats, in order. `quoted`: text, not a number.
struct Column {
  std::string_view name;
  bool quoted;
  std::string (*value)(const ExportedEntry&);
};

constexpr std::array<Column, 18> kColumns = {{
    {"seq", false, [](const ExportedEntry& e) { return std::to_string(e.seq); }},
    {"recorded_at", true, [](const ExportedEntry& e) { return time_text(e.entry.recorded); }},
    {"effective_at", true, [](const ExportedEntry& e) { return time_text(e.entry.effective); }},
    {"tenant", true, [](const ExportedEntry& e) { return e.tenant; }},
    {"rule", true, [](const ExportedEntry& e) { return e.account.rule; }},
    {"subject", true, [](const ExportedEntry& e) { return e.account.subject; }},
    {"period", true, [](const ExportedEntry& e) { return e.account.period; }},
    {"period_begins", true, [](const ExportedEntry& e) { return time_text(e.begins); }},
    {"period_ends", true, [](const ExportedEntry& e) { return time_text(e.ends); }},
    {"version", false, [](const ExportedEntry& e) { return std::to_string(e.entry.version); }},
    {"operation", true, [](const ExportedEntry& e) { return e.entry.operation; }},
    {"kind", true, [](const ExportedEntry& e) { return std::string(kind_name(e.entry.kind)); }},
    {"from", true, [](const ExportedEntry& e) { return std::string(bucket_name(movement_of(e.entry.kind).from)); }},
    {"to", true, [](const ExportedEntry& e) { return std::string(bucket_name(movement_of(e.entry.kind).to)); }},
    {"amount", false, [](const ExportedEntry& e) { return std::to_string(e.entry.amount); }},
    {"about", true, [](const ExportedEntry& e) { return e.entry.about; }},
    {"actor", true, [](const ExportedEntry& e) { return e.entry.actor; }},
    {"reason", true, [](const ExportedEntry& e) { return e.entry.reason; }},
}};

// RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front.
void append_csv_field(std::string& out, std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
    text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

Result<ExportPage> export_entries(database::Database& database, const ExportFilter& filter) {
  const Result<std::int64_t> last = horizon(database);
  if (!last.ok()) return last.failure();
  const auto most = static_cast<std::int64_t>(std::clamp<std::size_t>(filter.most, 1, kMaxExported));
  ExportPage page;
  const Outcome outcome = database.run(Access::read, [&](Session& session) -> Status {
    page = {};
    const Result<Rows> rows =
        session.run(kPage, filter.after, last.value(), filter.tenant, filter.rule, filter.period, most + 1);
    if (!rows.ok()) return rows.failure();
    for (const Row& row : rows.value()) {
      if (page.entries.size() == static_cast<std::size_t>(most)) {
        page.more = true;
        break;
      }
      Result<ExportedEntry> entry = exported_of(row);
      if (!entry.ok()) return entry.failure();
      page.entries.push_back(std::move(entry).value());
    }
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  page.cursor = page.more ? page.entries.back().seq : std::max(filter.after, last.value());
  return page;
}

void append_ndjson(std::string& out, const ExportedEntry& entry) {
  char separator = '{';
  for (const Column& column : kColumns) {
    out += separator;
    separator = ',';
    base::append_json_string(out, column.name);
    out += ':';
    if (column.quoted) {
      base::append_json_string(out, column.value(entry));
    } else {
      out += column.value(entry);
    }
  }
  out += "}\n";
}

void append_csv(std::string& out, const ExportedEntry& entry) {
  bool first = true;
  for (const Column& column : kColumns) {
    if (!first) out += ',';
    first = false;
    append_csv_field(out, column.value(entry));
  }
  out += '\n';
}

std::string_view csv_header() {
  static const std::string header = [] {
    std::string names;
    for (const Column& column : kColumns) {
      if (!names.empty()) names += ',';
      names += column.name;
    }
    return names + '\n';
  }();
  return header;
}

}  // namespace weir::ledger
