// /admin/v1/accounts: the accounts of quotas in the ledger: what was used of them and when, and what people change:
// grants, corrections, reversals. A change and its entry in the audit trail are one transaction.
#pragma once

#include "admin/api.h"
#include "ledger/ledger.h"

namespace weir::admin {

// The ledger is borrowed, and outlives the routes.
void add_account_routes(Api& api, ledger::Ledger& ledger);

}  // namespace weir::admin
