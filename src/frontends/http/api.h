// The API listener's routes: checks, health and the API's own description (api/openapi.json).
//
//   auto router = http::make_api_router(limiter, {.health = [] { return http::HealthReport{.ready = true}; }});
//   loops.listen({.endpoint = endpoint, .protocols = [&](std::size_t) { return http::http_protocols(router(…)); }});
//
// A router for each loop: its handlers reuse their buffers and are not for two threads. More routes may be added.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "frontends/http/forward_auth.h"
#include "frontends/http/once.h"
#include "frontends/http/reset_trail.h"
#include "frontends/http/router.h"
#include "frontends/render/decision_headers.h"
#include "frontends/transport/ingress_time.h"
#include "frontends/transport/request_identity.h"
#include "frontends/transport/tracing.h"
#include "weir/limiter.h"

namespace weir::http {

// What a token may be limited to: checks (of every kind), refunds, resets, reports of how work ended, leases,
// reservations, and lists of both, which show what others hold.
inline constexpr std::string_view kApiRoles[] = {"check", "refund", "reset", "report", "lease", "reserve", "list"};

struct HealthReport {
  bool ready = true;
  std::string details{};  // a JSON object; empty: {"ready":…}
};

struct ApiOptions {
  render::HeaderOptions headers{};
  std::size_t check_body_bytes = std::size_t{64} << 10;
  std::size_t batch_body_bytes = std::size_t{1} << 20;
  std::function<HealthReport()> health{};                  // called from every loop; none: always ready
  std::shared_ptr<CallerReader> callers{};                 // this loop's; none: no /v1/forward-auth
  std::shared_ptr<transport::IngressTime> times{};         // this loop's; none: the time of gateways is not used
  std::shared_ptr<transport::RequestIdentity> identity{};  // this loop's; none: attributes are used as they are sent
  std::shared_ptr<transport::Tracing> tracing{};           // this loop's; none: no request is traced
  std::shared_ptr<Guard> gateway_guard{};                  // of /v1/forward-auth; none: the router's
  std::shared_ptr<ResetTrail> resets{};                    // of all loops; none: resets are not recorded
  OnceOptions once{};  // of every route that changes something; checks never need a key
  // Who is authenticated, for leases and reservations; none: no one is.
  std::function<std::string(const HttpRequest&)> caller_of{};
};

// The limiter outlives the router.
void add_api_routes(Router& router, Limiter& limiter, const ApiOptions& options);
std::shared_ptr<Router> make_api_router(Limiter& limiter, const ApiOptions& options);

// GET /healthz and /readyz, for listeners of other kinds too.
void add_health_routes(Router& router, std::function<HealthReport()> health);
// The first of them alone, and the answer of the second, which refers to the report.
void add_liveness_route(Router& router);
Response health_response(HealthReport& report);

// api/openapi.json as it was when the program was built.
std::string_view openapi_json();

}  // namespace weir::http
