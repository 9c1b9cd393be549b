#include "ledger/gate/gate_answers.h"

#include <algorithm>

namespace weir::ledger {

void fail_call(QuotaCall& call, const Failure& failure) {
  call.status = failure.code;
  call.message = failure.message;
  for (QuotaCharge& charge : call.charges) {
    charge.outcome = {};
    charge.outcome.status = failure.code;
  }
  call.complete();
}

void fill_from(ChargeOutcome& outcome, const Account& account, std::int64_t cost, TimePoint wall, bool admitted) {
  outcome = {};
  outcome.admitted = admitted;
  outcome.remaining = account.available;
  outcome.reset_after = std::max(account.ends - wall, Duration(0));
  if (admitted) return;
  outcome.too_large = cost > account.limit + account.grace && !account.record_overage;
  if (!outcome.too_large) outcome.retry_after = std::max(outcome.reset_after, Duration(1));
}

}  // namespace weir::ledger
