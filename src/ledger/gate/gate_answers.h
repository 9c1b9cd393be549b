// What the ledger has answered, as a QuotaCall tells it.
#pragma once

#include "ledger/account.h"
#include "weir/quotas.h"

namespace weir::ledger {

// The ledger did not do it: the call and each of its charges fail, and the call completes.
void fail_call(QuotaCall& call, const Failure& failure);
// What a charge of `cost` has left in its account.
void fill_from(ChargeOutcome& outcome, const Account& account, std::int64_t cost, TimePoint wall, bool admitted);

}  // namespace weir::ledger
