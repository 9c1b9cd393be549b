// An entry of the journal as JSON, and the query of a search. Shared by the list and the stream of decisions.
#pragma once

#include <string>

#include "admin/json_writer.h"
#include "admin/query.h"
#include "observe/journal.h"

namespace weir::admin {

void write_entry(JsonWriter& out, const observe::JournalEntry& entry, std::string_view node);

// attribute.NAME=VALUE, rule, reason, outcome, subject, from, to. What is wrong is a fault of the query.
observe::JournalQuery read_journal_query(Query& query);

}  // namespace weir::admin
