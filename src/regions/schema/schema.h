// The tables of a coordinator, which is always PostgreSQL. They are apart from those of `database`, which may be another.
#pragma once

#include <span>

#include "database/migration.h"

namespace weir::regions {

std::span<const database::Migration> region_migrations();

}  // namespace weir::regions
