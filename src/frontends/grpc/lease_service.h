// weir.v1.Limiter: Acquire, Renew and Release (api/proto/weir/v1/limiter.proto).
//
// A denial is an answer without a lease. What is wrong with a call is a status: INVALID_ARGUMENT, NOT_FOUND for a
// handle that this service has not sealed, FAILED_PRECONDITION for a lease or an id that is over, UNAVAILABLE if the
// store did not answer.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "frontends/grpc/call.h"
#include "frontends/grpc/limiter_wire.h"
#include "frontends/transport/request_identity.h"
#include "weir/leases.h"

namespace weir::grpc {

// One for each loop: its buffers are reused. The limiter outlives it.
class LeaseService final : public Service {
 public:
  enum MethodIndex { kAcquire, kRenew, kRelease };

  // `identity` may be null.
  LeaseService(LeaseLimiter& leases, std::shared_ptr<transport::RequestIdentity> identity)
      : leases_(leases), identity_(std::move(identity)) {}
  void on_message(Call& call, int method, std::string_view message) override;

 private:
  void acquire(Call& call, std::string_view message);
  void answer(Call& call, const LeaseQuestion& question);

  LeaseLimiter& leases_;
  const std::shared_ptr<transport::RequestIdentity> identity_;
  CheckMessages messages_;
};

}  // namespace weir::grpc
