#include "frontends/grpc/grpc_server.h"

#include "frontends/grpc/health_service.h"
#include "frontends/grpc/lease_service.h"
#include "frontends/grpc/limiter_service.h"
#include "frontends/grpc/reflection_service.h"
#include "frontends/grpc/reservation_service.h"
#include "frontends/grpc/rls_service.h"

namespace weir::grpc {
namespace {

class Services final : public ServiceTable {
 public:
  Services(Limiter& limiter, const GrpcOptions& options, std::shared_ptr<Clock> clock)
      : ServiceTable(std::move(clock), options.limits),
        rls_(limiter, options.rls, options.identity),
        limiter_(limiter, options.identity),
        health_(options.ready) {
    set_times(options.times);
    set_tracing(options.tracing);
    add({RlsService::kShouldRateLimit, &rls_});
    add({"/weir.v1.Limiter/Check", &limiter_, LimiterService::kCheck});
    add({"/weir.v1.Limiter/CheckBatch", &limiter_, LimiterService::kCheckBatch});
    add({"/weir.v1.Limiter/Refund", &limiter_, LimiterService::kRefund});
    add({"/weir.v1.Limiter/Report", &limiter_, LimiterService::kReport});
    if (limiter.leases() != nullptr) {
      leases_ = std::make_unique<LeaseService>(*limiter.leases(), options.identity);
      add({"/weir.v1.Limiter/Acquire", leases_.get(), LeaseService::kAcquire});
      add({"/weir.v1.Limiter/Renew", leases_.get(), LeaseService::kRenew});
      add({"/weir.v1.Limiter/Release", leases_.get(), LeaseService::kRelease});
    }
    if (limiter.reservations() != nullptr) {
      reservations_ = std::make_unique<ReservationService>(*limiter.reservations(), options.identity);
      add({"/weir.v1.Limiter/Reserve", reservations_.get(), ReservationService::kReserve});
      add({"/weir.v1.Limiter/Commit", reservations_.get(), ReservationService::kCommit});
      add({"/weir.v1.Limiter/ReleaseReservation", reservations_.get(), ReservationService::kRelease});
      add({"/weir.v1.Limiter/ExtendReservation", reservations_.get(), ReservationService::kExtend});
    }
    add({"/grpc.health.v1.Health/Check", &health_, HealthService::kCheck});
    add({"/grpc.health.v1.Health/Watch", &health_, HealthService::kWatch});
    add({"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", &reflection_, 0, true});
    add({"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &reflection_, 0, true});
  }

 private:
  RlsService rls_;
  LimiterService limiter_;
  std::unique_ptr<LeaseService> leases_;              // null: the limiter gives none
  std::unique_ptr<ReservationService> reservations_;  // the same
  HealthService health_;
  ReflectionService reflection_;
};

}  // namespace

transport::ProtocolFactory grpc_protocols(Limiter& limiter, const GrpcOptions& options) {
  std::shared_ptr<Clock> clock = options.clock ? options.clock : std::make_shared<SteadyClock>();
  const auto services = std::make_shared<const Services>(limiter, options, std::move(clock));
  return [services](transport::Link& link) { return std::make_unique<GrpcProtocol>(link, services); };
}

}  // namespace weir::grpc
