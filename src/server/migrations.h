// The migrations of every room that keeps something in the database. A new room adds its own to the list.
#pragma once

#include <vector>

#include "database/migration.h"

namespace weir::server {

std::vector<database::Migration> all_migrations();

}  // namespace weir::server
