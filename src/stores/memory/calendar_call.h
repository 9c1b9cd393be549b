// CalendarCall: a StoreCall as it is after the wall clock was set back (StoreCall::ahead).
//
// Buckets go on by a time that is then ahead of the wall clock, but fixed windows begin when the wall clock says so: in
// their allowances, which are copied here, that difference is the anchor. One step of the clock moves the windows once,
// which admits at most one further limit.
//
// For the stack of one call, while the original call lives. Writes to that one's outcomes.
#pragma once

#include <cassert>

#include "weir/inline_vector.h"
#include "weir/store.h"

namespace weir::memory {

class CalendarCall final : public StoreCall {
 public:
  explicit CalendarCall(const StoreCall& original) {
    allowances_.resize(original.charges.size());  // never grows below, so pointers into it stay good
    for (std::size_t i = 0; i < original.charges.size(); ++i) {
      Charge& charge = copies_.append();
      charge = original.charges[i];
      if (charge.allowance->algorithm != Algorithm::fixed_window) continue;
      allowances_[i] = *charge.allowance;
      allowances_[i].anchor = (charge.allowance->anchor + original.ahead) % charge.allowance->window;
      charge.allowance = &allowances_[i];
    }
    action = original.action;
    now = original.now;
    charges = {copies_.data(), copies_.size()};
    outcomes = original.outcomes;
    hold = original.hold;
    draw = original.draw;
  }
  void complete() override { assert(false && "the memory store answers before begin() returns"); }

 private:
  InlineVector<Allowance, 8> allowances_;
  InlineVector<Charge, 8> copies_;
};

}  // namespace weir::memory
