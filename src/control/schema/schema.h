// The migrations of the admin API's tables. The SQL is in the files beside this one and is put into the program at
// build.
#pragma once

#include <span>

#include "database/migration.h"

namespace weir::control {

std::span<const database::Migration> admin_migrations();

}  // namespace weir::control
