// GET /admin/v1/quota-gate: what this node holds of accounts, in memory and in its usage log, beside what the ledger
// says that it holds. The two are read one after the other while decisions go on, so they agree only when nothing
// moves; `weir quota reconcile` asks again until they do.
#pragma once

#include <string>

#include "admin/api.h"
#include "ledger/gate/ledger_gate.h"

namespace weir::server {

// The gate is borrowed. `node` is its name in the ledger.
void add_gate_route(admin::Api& api, ledger::LedgerGate& gate, const std::string& node);

}  // namespace weir::server
