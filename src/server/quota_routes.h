// GET /v1/quotas: the accounts of a tenant, as the ledger has them.
#pragma once

#include "database/database.h"
#include "frontends/http/router.h"
#include "weir/time.h"

namespace weir::server {

// The database and the clock outlive the router.
void add_quota_routes(http::Router& router, database::Database& database, Clock& clock);

}  // namespace weir::server
