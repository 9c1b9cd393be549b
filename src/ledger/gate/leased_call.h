// LeasedCall: a decision that waits for slices, one quota after the other. Owns itself until it is over.
#pragma once

#include "ledger/gate/ledger_gate.h"

namespace weir::ledger {

class LeasedCall {
 public:
  LeasedCall(LedgerGate& of, QuotaCall& for_call) : gate(of), call(for_call) {
    gate.waiting_.fetch_add(1, std::memory_order_relaxed);
  }

  QuotaCharge& charge() { return call.charges[next]; }
  bool over() const { return next == call.charges.size(); }

  // Nothing is taken.
  void deny() {
    for (QuotaCharge& each : call.charges.first(next)) {
      if (each.taken != nullptr) gate.put_back(each);
    }
    finish();
  }
  void fail(Code status) {
    charge().outcome = {};
    charge().outcome.status = status;
    if (charge().binding) return skip_rest(status);
    ++next;
    gate.advance(*this);
  }
  void finish() {
    gate.waiting_.fetch_sub(1, std::memory_order_relaxed);
    QuotaCall& done = call;
    delete this;
    done.complete();
  }

  LedgerGate& gate;
  QuotaCall& call;
  std::size_t next = 0;

 private:
  // The ledger is unavailable for the others too. Those that were taken stay, because the failure policy may admit.
  void skip_rest(Code status) {
    for (QuotaCharge& each : call.charges.subspan(next)) {
      each.outcome = {};
      each.outcome.status = status;
    }
    finish();
  }
};

}  // namespace weir::ledger
