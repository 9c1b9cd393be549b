#include "frontends/http/api.h"

#include <utility>

#include "frontends/http/check_handler.h"

namespace weir::http {

std::shared_ptr<Router> make_api_router(Limiter& limiter, const ApiOptions& options) {
  auto router = std::make_shared<Router>();
  add_api_routes(*router, limiter, options);
  return router;
}

void add_api_routes(Router& router, Limiter& limiter, const ApiOptions& options) {
  auto checks = std::make_shared<CheckHandler>(limiter, options.legacy_headers, options.times);
  router.add(
      {.method = "POST",
       .path = "/v1/check",
       .body_bytes = options.check_body_bytes,
       .handler = [checks](const HttpRequest& request, ResponseWriter& writer) { checks->check(request, writer); }});
  router.add({.method = "POST",
              .path = "/v1/check/batch",
              .body_bytes = options.batch_body_bytes,
              .handler = [checks](const HttpRequest& request, ResponseWriter& writer) {
                checks->check_batch(request, writer);
              }});
  router.add(
      {.method = "POST",
       .path = "/v1/refund",
       .body_bytes = options.check_body_bytes,
       .handler = [checks](const HttpRequest& request, ResponseWriter& writer) { checks->refund(request, writer); }});
  router.add({.method = "GET",
              .path = "/openapi.json",
              .body_bytes = 0,
              .handler = [](const HttpRequest&, ResponseWriter& writer) {
                writer.send({.status = 200, .content_type = kJson, .fields = {}, .body = openapi_json()});
              }});
  add_health_routes(router, options.health);
  if (options.callers == nullptr) return;
  auto forwards = std::make_shared<ForwardAuthHandler>(limiter, options.callers, options.legacy_headers);
  router.add({.method = {},
              .path = "/v1/forward-auth",
              .body_bytes = options.check_body_bytes,
              .handler = [forwards](const HttpRequest& request, ResponseWriter& writer) {
                forwards->answer(request, writer);
              }});
}

void add_liveness_route(Router& router) {
  router.add(
      {.method = "GET", .path = "/healthz", .body_bytes = 0, .handler = [](const HttpRequest&, ResponseWriter& writer) {
         writer.send({.status = 200, .content_type = kJson, .fields = {}, .body = R"({"status":"ok"})"});
       }});
}

Response health_response(HealthReport& report) {
  if (report.details.empty()) report.details = report.ready ? R"({"ready":true})" : R"({"ready":false})";
  return {.status = report.ready ? 200 : 503, .content_type = kJson, .fields = {}, .body = report.details};
}

void add_health_routes(Router& router, std::function<HealthReport()> health) {
  add_liveness_route(router);
  router.add({.method = "GET",
              .path = "/readyz",
              .body_bytes = 0,
              .handler = [health = std::move(health)](const HttpRequest&, ResponseWriter& writer) {
                HealthReport report = health ? health() : HealthReport{};
                writer.send(health_response(report));
              }});
}

}  // namespace weir::http
