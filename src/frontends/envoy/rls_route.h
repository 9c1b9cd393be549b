// POST /json: Envoy's rate limit service as proto-JSON over HTTP, as envoyproxy/ratelimit has it.
//
// 200 when the answer is OK, 429 when it is OVER_LIMIT: the body is the RateLimitResponse either way. 400 when the body
// is not a RateLimitRequest, 503 when the store did not answer for a limit override: problem+json.
#pragma once

#include <cstddef>
#include <memory>

#include "frontends/envoy/rls_decider.h"
#include "frontends/http/router.h"
#include "frontends/transport/ingress_time.h"
#include "frontends/transport/request_identity.h"
#include "frontends/transport/tracing.h"
#include "weir/limiter.h"

namespace weir::envoy {

// For the router of one loop: its buffers are reused. The limiter outlives the router.
// `times`, `identity` and `tracing` may be null.
void add_rls_route(http::Router& router, Limiter& limiter, RlsOptions options, std::size_t body_bytes,
                   std::shared_ptr<transport::IngressTime> times = {},
                   std::shared_ptr<transport::RequestIdentity> identity = {},
                   std::shared_ptr<transport::Tracing> tracing = {});

}  // namespace weir::envoy
