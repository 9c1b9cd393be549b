// The migrations of what operators set while the server runs: overrides, blocks, tenants, API keys. The SQL is in the
// files beside this one and is put into the program at build.
#pragma once

#include <span>

#include "database/migration.h"

namespace weir::control {

std::span<const database::Migration> operator_migrations();

}  // namespace weir::control
