#include "database/postgres/sqlstate.h"

namespace weir::database {
namespace {

using Trouble = Connection::Trouble;

struct Entry {
  std::string_view prefix;
  SqlState meaning;
};

// The first prefix that fits counts. PostgreSQL's manual, appendix A.
constexpr Entry kMeanings[] = {
    {"40003", {Code::unavailable, Trouble::lost}},  // statement_completion_unknown
    {"40", {Code::aborted, Trouble::conflict}},     // serialization_failure, deadlock_detected
    {"55P03", {Code::aborted, Trouble::conflict}},  // lock_not_available
    {"57014", {Code::deadline_exceeded, Trouble::refused}},
    {"57P", {Code::unavailable, Trouble::lost}},    // shutting down, crashed, starting
    {"08", {Code::unavailable, Trouble::lost}},     // connection_exception
    {"25006", {Code::unavailable, Trouble::lost}},  // read_only_sql_transaction: the primary is elsewhere now
    {"25P03", {Code::unavailable, Trouble::lost}},  // idle_in_transaction_session_timeout
    {"23505", {Code::already_exists, Trouble::refused}},
    {"23", {Code::failed_precondition, Trouble::refused}},
    {"P0001", {Code::failed_precondition, Trouble::refused}},  // raised by a trigger
    {"53", {Code::resource_exhausted, Trouble::refused}},
    {"28", {Code::permission_denied, Trouble::refused}},
    {"42501", {Code::permission_denied, Trouble::refused}},
    {"58", {Code::unavailable, Trouble::refused}},  // an error of the server's system
    {"XX001", {Code::data_loss, Trouble::refused}},
    {"XX002", {Code::data_loss, Trouble::refused}},
};

}  // namespace

SqlState meaning_of(std::string_view sqlstate) {
  for (const Entry& entry : kMeanings) {
    if (sqlstate.starts_with(entry.prefix)) return entry.meaning;
  }
  return {Code::internal, Trouble::refused};
}

}  // namespace weir::database
