// GET /v1/quotas: the accounts of a tenant, as the ledger has them.
#pragma once

#include <memory>

#include "database/database.h"
#include "frontends/http/router.h"
#include "frontends/transport/request_identity.h"
#include "weir/time.h"

namespace weir::server {

// The database and the clock outlive the router. With an identity (of the router's loop), a caller sees the accounts of
// the tenant that its credentials name, which are attributes in the query, and no others.
void add_quota_routes(http::Router& router, database::Database& database, Clock& clock,
                      std::shared_ptr<transport::RequestIdentity> identity);

}  // namespace weir::server
