// weir.v1.Limiter: Reserve, Commit, ReleaseReservation and ExtendReservation (api/proto/weir/v1/limiter.proto).
//
// A denial is an answer without a reservation. What is wrong with a call is a status: INVALID_ARGUMENT, NOT_FOUND for a
// handle that this service has not sealed, FAILED_PRECONDITION for a reservation that is over or was closed by another
// call, UNAVAILABLE if the store did not answer.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "frontends/grpc/call.h"
#include "frontends/grpc/limiter_wire.h"
#include "frontends/transport/request_identity.h"
#include "weir/reservations.h"

namespace weir::grpc {

// One for each loop: its buffers are reused. The limiter outlives it.
class ReservationService final : public Service {
 public:
  enum MethodIndex { kReserve, kCommit, kRelease, kExtend };

  // `identity` may be null.
  ReservationService(ReservationLimiter& reservations, std::shared_ptr<transport::RequestIdentity> identity)
      : reservations_(reservations), identity_(std::move(identity)) {}
  void on_message(Call& call, int method, std::string_view message) override;

 private:
  void reserve(Call& call, std::string_view message);
  void answer(Call& call, const ReservationQuestion& question);

  ReservationLimiter& reservations_;
  const std::shared_ptr<transport::RequestIdentity> identity_;
  CheckMessages messages_;
};

}  // namespace weir::grpc
