// The table of journal entries in the database.
#pragma once

#include <span>

#include "database/migration.h"

namespace weir::server {

std::span<const database::Migration> journal_migrations();

}  // namespace weir::server
