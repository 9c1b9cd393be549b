// Tables: reads what operations need from the database into Books, locking it, and writes what they changed.
#pragma once

#include "database/session.h"
#include "ledger/books.h"
#include "ledger/operation.h"

namespace weir::ledger {

// Rows are locked in one order, as far as they are known beforehand, so that transactions seldom wait for each other in
// a circle. Accounts that have terms and do not exist are added, with nothing in them.
Status read_needs(database::Session& session, const Needs& needs, Books& books);

// The rows that have changed, the new entries, and notices of the thresholds that were reached.
Status write_changes(database::Session& session, const Books& books);

}  // namespace weir::ledger
