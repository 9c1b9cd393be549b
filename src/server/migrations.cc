#include "server/migrations.h"

#include "control/schema/operator_schema.h"
#include "control/schema/schema.h"
#include "ledger/schema/schema.h"
#include "regions/schema/schema.h"
#include "server/journal_tables.h"

namespace weir::server {

std::vector<database::Migration> all_migrations() {
  std::vector<database::Migration> all;
  for (const auto migrations : {ledger::ledger_migrations(), control::admin_migrations(),
                                control::operator_migrations(), journal_migrations(), regions::region_migrations()}) {
    all.insert(all.end(), migrations.begin(), migrations.end());
  }
  return all;
}

}  // namespace weir::server
