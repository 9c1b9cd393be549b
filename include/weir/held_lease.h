// HeldLease: a lease (leases.h) for as long as an object lives. It renews itself in the background and is released by
// the destructor.
//
//   weir::HeldLease lease(*limiter->leases(), {.request = weir::Request(attributes), .ttl = 30s});
//   if (!lease.held()) return too_many(lease.answer().decision.retry_after);
//   write_to_storage(data, lease.answer().fencing_token);   // storage refuses a token that is older than the last
//
// A thread of its own renews it at every third of the TTL, so that two renewals may fail. If none succeeds until the
// TTL is over, or the store says that the lease is gone, held() becomes false and `lost` is called, once, on that
// thread. A process that was stopped for longer than the TTL notices only then: what must not happen twice is protected
// by the fencing token, not by held().
//
// Thread-safe. The limiter must outlive the object; its calls must work from any thread.
#pragma once

#include <functional>
#include <memory>

#include "weir/leases.h"

namespace weir {

class HeldLease {
 public:
  // Acquires; waits for a store that answers later. `question.verb` is not used. `lost` gets the last answer; it may
  // call release(), but must not destroy the object.
  HeldLease(LeaseLimiter& leases, const LeaseQuestion& question,
            std::function<void(const LeaseAnswer&)> lost = nullptr);
  // Ends the renewals and releases the lease, if it is held.
  ~HeldLease();
  HeldLease(HeldLease&&) noexcept;
  HeldLease& operator=(HeldLease&&) noexcept;

  // It was granted, and has not been lost or released.
  bool held() const;
  // What acquire answered.
  const LeaseAnswer& answer() const;
  // Earlier than the destructor does it. The answer says whether the store was reached; without a lease, nothing is
  // asked.
  LeaseAnswer release();

 private:
  class Keeper;
  std::unique_ptr<Keeper> keeper_;
};

}  // namespace weir
