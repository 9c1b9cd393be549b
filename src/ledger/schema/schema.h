// The migrations of the ledger's tables. The SQL is in the files beside this one and is put into the program at build.
#pragma once

#include <span>

#include "database/migration.h"

namespace weir::ledger {

std::span<const database::Migration> ledger_migrations();

}  // namespace weir::ledger
