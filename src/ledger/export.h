// Export: the entries of the ledger in a fixed order, for billing. Each entry comes once, and none is left out, also
// while new ones arrive: a page ends before the first entry whose transaction might still be running.
//
//   std::int64_t after = 0;
//   do {
//     Result<ExportPage> page = export_entries(database, {.after = after});
//     … write page.value().entries, then remember the cursor …
//     after = page.value().cursor;
//   } while (page.value().more);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "database/database.h"
#include "ledger/account.h"

namespace weir::ledger {

struct ExportedEntry {
  std::int64_t seq = 0;  // grows; numbers may be missing, entries are not
  Entry entry;
  AccountKey account;
  std::string tenant;
  TimePoint begins;
  TimePoint ends;
};

// Empty fields match everything.
struct ExportFilter {
  std::int64_t after = 0;  // the cursor of the page before
  std::size_t most = 1000;
  std::string tenant;
  std::string rule;
  std::string period;
};
inline constexpr std::size_t kMaxExported = 10'000;

struct ExportPage {
  std::vector<ExportedEntry> entries;
  std::int64_t cursor = 0;  // where the next page begins
  bool more = false;        // there are more now
};

// Waits for the database; not for event loops.
Result<ExportPage> export_entries(database::Database& database, const ExportFilter& filter);

// One line for each entry, with a line feed. Times are in UTC as in 2026-03-01T00:00:00.000000Z.
void append_ndjson(std::string& out, const ExportedEntry& entry);
void append_csv(std::string& out, const ExportedEntry& entry);
std::string_view csv_header();

}  // namespace weir::ledger
