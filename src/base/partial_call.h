// PartialCall: some of the charges of a store call, as a call of its own. What a decorator of a store, which answers
// the other charges itself, asks of the store behind it.
#pragma once

#include <cstdint>

#include "weir/inline_vector.h"
#include "weir/store.h"

namespace weir::base {

class PartialCall : public StoreCall {
 public:
  PartialCall(const PartialCall&) = delete;
  PartialCall& operator=(const PartialCall&) = delete;

  // Copies the charges whose bits are not set in `covered`, to be charged as the whole would.
  void take_over(const StoreCall& whole, std::uint64_t covered);
  // After the answer: writes it into the call that was taken over. False: something in it holds the others back.
  bool hand_back(StoreCall& whole) const;

 protected:
  PartialCall() = default;
  ~PartialCall() = default;

 private:
  InlineVector<std::uint8_t, 8> places_;  // of its charges in the whole call
  InlineVector<Charge, 8> charges_;
  InlineVector<ChargeOutcome, 8> outcomes_;
};

}  // namespace weir::base
