// Retention: removes the entries of accounts whose period ended long ago, after they were exported. What an account
// came to stays in the archive; its entries, and what belonged to it, go.
//
// Never touched: periods that are not closed, accounts of which something is held or a grant is left, and accounts with
// an entry that was not exported yet. Safe beside servers that run, and from several of them at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "database/database.h"
#include "ledger/account.h"

namespace weir::ledger {

struct Retention {
  TimePoint before{};         // accounts whose period ended earlier
  std::int64_t exported = 0;  // the cursor that the last export printed (export.h): entries up to it are kept elsewhere
  bool dry_run = false;       // only counts
  std::int64_t after = 0;     // an account's id: those up to it are not checked
  std::size_t most = 0;       // accounts to look at in this call; 0: all
};

struct Pruned {
  std::int64_t accounts = 0;
  std::int64_t entries = 0;
  std::int64_t unexported = 0;  // accounts that were left because of the cursor
  std::int64_t after = 0;       // with `most`: where the next call goes on
  bool more = false;            // there may be more
};

// How far entries were exported and are kept elsewhere, as it was noted last. 0: never.
Result<std::int64_t> exported_up_to(database::Session& session);
// Notes it; a cursor that is not beyond the last one changes nothing. Failure: invalid_argument, for one that no export
// can have printed yet.
Status note_exported(database::Session& session, std::int64_t cursor, const std::string& actor, TimePoint now);

// Waits for the database; not for event loops. `also` runs in the last transaction, with the sums. Failures:
// invalid_argument (the time is not long enough ago), those of the database. What was removed before a failure stays
// so.
using AlsoPruned = std::function<Status(database::Session&, const Pruned&)>;
Result<Pruned> prune(database::Database& database, const Retention& retention, TimePoint now, const AlsoPruned& also);

}  // namespace weir::ledger
