// CheckCall: one question to a Limiter, and where its answer goes. The counterpart of StoreCall (store.h) between a
// limiter and its callers. Most callers need only Limiter::check(); event loops use ask() (ask.h).
//
// A limiter that can answer at once writes the decisions and returns true from begin(). One that cannot calls defer()
// during begin(), which moves the call to memory that outlives the caller's stack; it then returns false, and
// complete() is called exactly once, on the store's thread, possibly before begin() returns. So a call whose answer is
// known needs no heap, and whether it is known is decided in one place: the limiter.
#pragma once

#include <span>

#include "weir/decision.h"
#include "weir/request.h"
#include "weir/store.h"

namespace weir {

class CheckCall {
 public:
  Action action = Action::take;       // a take whose request says `peek` is a peek
  std::span<const Request> requests;  // alive until begin() returns
  std::span<Decision> decisions;      // one for each request; new ones, as their constructor leaves them

  // Returns the call that takes this one's place, with the decisions made so far.
  virtual CheckCall& defer() = 0;
  // Every decision is made. Only after defer(); the call may be gone afterwards.
  virtual void complete() = 0;

 protected:
  CheckCall() = default;
  CheckCall(const CheckCall&) = default;
  CheckCall& operator=(const CheckCall&) = default;
  ~CheckCall() = default;
};

}  // namespace weir
