// GET /admin/v1/quota-gate: what this node holds of accounts, in memory and in its usage log, beside what the ledger
// says that it holds. The two are read one after the other while decisions go on: `still` says that nothing moved
// between node and ledger meanwhile, and what differs then is wrong. `weir quota reconcile` asks again until they agree
// or that is so.
#pragma once

#include <string>

#include "admin/api.h"
#include "ledger/gate/ledger_gate.h"

namespace weir::server {

// The gate is borrowed. `node` is its name in the ledger.
void add_gate_route(admin::Api& api, ledger::LedgerGate& gate, const std::string& node);

}  // namespace weir::server
