// START HERE for gRPC: the protocols of a listener.
//
//   loops.listen({.endpoint = endpoint,
//                 .protocols = [&](std::size_t loop) { return grpc::grpc_protocols(*limiters[loop], options); }});
//
// Services: Envoy's rate limit service, weir.v1.Limiter, health, and reflection (v1 and v1alpha). With TLS the
// listener's ALPN must offer "h2".
#pragma once

#include <functional>
#include <memory>

#include "frontends/envoy/rls_decider.h"
#include "frontends/grpc/grpc_protocol.h"
#include "frontends/transport/protocol.h"
#include "frontends/transport/request_identity.h"
#include "weir/limiter.h"
#include "weir/time.h"

namespace weir::grpc {

struct GrpcOptions {
  GrpcLimits limits;
  envoy::RlsOptions rls;                                 // how Envoy is answered
  std::shared_ptr<Clock> clock;                          // for deadlines and floods; none: a SteadyClock
  std::shared_ptr<transport::IngressTime> times;         // of this loop; none: gateways send no time
  std::shared_ptr<transport::RequestIdentity> identity;  // of this loop; none: attributes are used as they are sent
  std::shared_ptr<transport::Tracing> tracing;           // of this loop; none: no call is traced
  std::function<bool()> ready;                           // what health says; called from every loop; none: always ready
};

// For one loop: its connections share buffers. The limiter outlives the factory and its protocols.
transport::ProtocolFactory grpc_protocols(Limiter& limiter, const GrpcOptions& options);

}  // namespace weir::grpc
