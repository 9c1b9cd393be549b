// Rows: how the ledger's values are written in columns. Each …_of() reads the columns that its statement in tables.cc
// or reading.cc selects.
#pragma once

#include <string>
#include <vector>

#include "database/session.h"
#include "ledger/books.h"

namespace weir::ledger {

// PostgreSQL's clock, in microseconds.
inline const database::Statement kPostgresTime{
    "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)"};

// For SELECT, in the order that account_of() reads. A macro, because statements are constants.
#define WEIR_LEDGER_ACCOUNT_COLUMNS                                                                         \
  "id, rule, subject, period, tenant, begins_at, ends_at, unit_limit, limit_since, grace, record_overage, " \
  "thresholds, "                                                                                            \
  "issued, available, held, used, expired, granted, grace_used, overage, granted_left, version"

#define WEIR_LEDGER_ENTRY_COLUMNS \
  "account, version, operation, reach, kind, amount, about, actor, reason, effective_at, recorded_at"

Account account_of(const database::Row& row, std::size_t first = 0);
inline constexpr std::size_t kAccountColumns = 22;

// Failure: data_loss, for a kind of entry that this program does not know.
Result<Entry> entry_of(const database::Row& row, std::size_t first = 0);
inline constexpr std::size_t kEntryColumns = 11;

#define WEIR_LEDGER_GRANT_COLUMNS \
  "id, rule, subject, account, amount, arrived, remaining, priority, expires_at, created_at, actor, reason"
Grant grant_of(const database::Row& row);

#define WEIR_LEDGER_RESERVATION_COLUMNS "id, state, commit_on_expiry, granted, actual, created_at, expires_at"
// Without its legs. Failure: data_loss.
Result<Reservation> reservation_of(const database::Row& row);

// "80,100" for thresholds.
std::string numbers_text(const std::vector<std::int64_t>& numbers);
std::vector<std::int64_t> parse_numbers(std::string_view text);

// An answer that can be repeated. The accounts are not part of it.
std::string answer_text(const Answer& answer);
std::optional<Answer> parse_answer(std::string_view text);
// The same answer, marked as one that was repeated; and whether it is.
std::string replayed_answer_text(std::string text);
bool was_replayed(std::string_view text);

}  // namespace weir::ledger
