// PreparedCheck: checks of the same attributes, again and again. For callers that know them in advance: a connection, a
// worker of one tenant, a job.
//
//   const std::unique_ptr<weir::PreparedCheck> search = limiter->prepare({{"tenant", "acme"}, {"action", "search"}});
//   while (next_search()) {
//     if (!search->check().allowed) …
//   }
//
// Each check decides as Limiter::check() would, with the rules and the time of that moment. The rules that match and
// the keys of their buckets are kept, and found again when the rules have changed or an override has ended, so a check
// that finds nothing changed costs less than half.
//
// A handle is for one thread at a time; threads that check the same attributes have a handle each. It has copied the
// attributes, takes about 4 KiB, and keeps the rules that it last used in memory. The limiter must outlive it.
#pragma once

#include <functional>

#include "weir/call.h"
#include "weir/decision.h"
#include "weir/request.h"

namespace weir {

class PreparedCheck {
 public:
  using Completion = std::function<void(const Decision&)>;

  virtual ~PreparedCheck() = default;
  PreparedCheck(const PreparedCheck&) = delete;
  PreparedCheck& operator=(const PreparedCheck&) = delete;

  // Decides, and charges every matching rule or none. With a store that answers later, waits for it. The Decision is
  // the handle's, and good until its next call.
  virtual const Decision& check(Cost cost = {}) = 0;
  // The same without waiting: `done` runs once, before this returns if the answer is known, else on the store's
  // thread. The Decision lives only during the call. The handle may be used again, and may go, before `done` runs.
  void check(Cost cost, Completion done);

  // What the latter is made of (call.h): call.requests must be empty, and call.decisions have one place. True: answered
  // before it returns.
  [[nodiscard]] virtual bool begin(CheckCall& call, Cost cost) = 0;

 protected:
  PreparedCheck() = default;
};

}  // namespace weir
