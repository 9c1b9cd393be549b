#include "frontends/http/api.h"

#include <utility>

#include "frontends/http/check_handler.h"
#include "frontends/http/hold_handler.h"
#include "frontends/render/decision_headers.h"

namespace weir::http {
namespace {

using CheckMethod = void (CheckHandler::*)(const HttpRequest&, ResponseWriter&);

Handler handler_of(std::shared_ptr<CheckHandler> checks, CheckMethod method) {
  return [checks = std::move(checks), method](const HttpRequest& request, ResponseWriter& writer) {
    ((*checks).*method)(request, writer);
  };
}

void send_openapi(const HttpRequest&, ResponseWriter& writer) {
  writer.send({.status = 200, .content_type = kJson, .fields = {}, .body = openapi_json()});
}

}  // namespace

std::shared_ptr<Router> make_api_router(Limiter& limiter, const ApiOptions& options) {
  auto router = std::make_shared<Router>();
  add_api_routes(*router, limiter, options);
  return router;
}

void add_api_routes(Router& router, Limiter& limiter, const ApiOptions& options) {
  OnceOptions optional = options.once;
  optional.required = false;
  auto checks = std::make_shared<CheckHandler>(limiter, options.headers, options.times, options.identity,
                                               options.tracing, options.resets);
  router.add({.method = "POST",
              .path = "/v1/check",
              .body_bytes = options.check_body_bytes,
              .handler = once(optional, handler_of(checks, &CheckHandler::check)),
              .role = "check"});
  router.add({.method = "POST",
              .path = "/v1/check/batch",
              .body_bytes = options.batch_body_bytes,
              .handler = once(optional, handler_of(checks, &CheckHandler::check_batch)),
              .role = "check"});
  router.add({.method = "POST",
              .path = "/v1/refund",
              .body_bytes = options.check_body_bytes,
              .handler = once(options.once, handler_of(checks, &CheckHandler::refund)),
              .role = "refund"});
  router.add({.method = "POST",
              .path = "/v1/reset",
              .body_bytes = options.check_body_bytes,
              .handler = once(options.once, handler_of(checks, &CheckHandler::reset)),
              .role = "reset"});
  router.add({.method = "POST",
              .path = "/v1/report",
              .body_bytes = options.check_body_bytes,
              .handler = once(optional, handler_of(checks, &CheckHandler::report)),
              .role = "report"});
  add_hold_routes(router, limiter,
                  {.body_bytes = options.check_body_bytes,
                   .once = options.once,
                   .caller_of = options.caller_of,
                   .append_fields =
                       [headers = options.headers](std::string& out, const Decision& decision) {
                         render::append_decision_fields(out, decision, headers);
                       },
                   .times = options.times,
                   .identity = options.identity,
                   .tracing = options.tracing});
  router.add({.method = "GET", .path = "/openapi.json", .handler = send_openapi, .open = true});
  add_health_routes(router, options.health);
  if (options.callers == nullptr) return;
  auto forwards = std::make_shared<ForwardAuthHandler>(limiter, options.callers, options.headers, options.tracing);
  router.add(
      {.method = {},
       .path = "/v1/forward-auth",
       .body_bytes = options.check_body_bytes,
       .handler = [forwards](const HttpRequest& request, ResponseWriter& writer) { forwards->answer(request, writer); },
       .role = "check",
       .guard = options.gateway_guard});
}

void add_liveness_route(Router& router) {
  router.add({.method = "GET",
              .path = "/healthz",
              .handler =
                  [](const HttpRequest&, ResponseWriter& writer) {
                    writer.send({.status = 200, .content_type = kJson, .fields = {}, .body = R"({"status":"ok"})"});
                  },
              .open = true});
}

Response health_response(HealthReport& report) {
  if (report.details.empty()) report.details = report.ready ? R"({"ready":true})" : R"({"ready":false})";
  return {.status = report.ready ? 200 : 503, .content_type = kJson, .fields = {}, .body = report.details};
}

void add_health_routes(Router& router, std::function<HealthReport()> health) {
  add_liveness_route(router);
  router.add({.method = "GET",
              .path = "/readyz",
              .handler =
                  [health = std::move(health)](const HttpRequest&, ResponseWriter& writer) {
                    HealthReport report = health ? health() : HealthReport{};
                    writer.send(health_response(report));
                  },
              .open = true});
}

}  // namespace weir::http
