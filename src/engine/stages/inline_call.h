// InlineCall: a call to a store that answers before begin() returns.
#pragma once

#include <cassert>
#include <span>

#include "weir/store.h"

namespace weir::engine {

class InlineCall final : public StoreCall {
 public:
  InlineCall(Action asked_action, const Reading& at, std::span<const Charge> asked, std::span<ChargeOutcome> answers) {
    action = asked_action;
    set_reading(at);
    charges = asked;
    outcomes = answers;
  }

  // Precondition: store.immediate().
  void ask(Store& store) {
    const bool at_once = store.begin(*this);
    assert(at_once);
    static_cast<void>(at_once);
  }
  void complete() override { assert(false && "an immediate store answers before begin() returns"); }
};

}  // namespace weir::engine
