// The part of the store contract that is about draws (weir/draw_step.h).
#pragma once

#include "tests/contract/store_contract.h"

namespace weir::contract {

class DrawContract : public StoreContract {
 protected:
  ChargeOutcome draw(const Charge& charge, DrawStep& step) {
    OwnedCall call(Action::draw, now_, {charge});
    call.draw = &step;
    store_->answer(call);
    EXPECT_EQ(call.status, Code::ok);
    return call.results()[0];
  }
};

}  // namespace weir::contract
