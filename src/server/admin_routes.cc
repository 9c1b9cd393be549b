#include "server/admin_routes.h"

#include <string>

#include "admin/call.h"

namespace weir::server {

void add_admin_routes(http::Router& router, const AdminOptions& options) {
  router.set_guard(options.access);
  router.add({.method = "GET",
              .path = "/metrics",
              .handler = [&metrics = options.metrics, &side = options.side](const http::HttpRequest&,
                                                                            http::ResponseWriter& writer) {
                const admin::LaterAnswer later(writer.defer());
                const bool queued = side.post([later, &metrics] {
                  later.send({.status = 200,
                              .body = metrics.text(),
                              .fields = {},
                              .content_type = std::string(observe::Metrics::kContentType)});
                });
                if (!queued) later.send(admin::problem(503, "busy", "too many scrapes are waiting; try again later"));
              }});
  http::add_liveness_route(router);
  router.add({.method = "GET",
              .path = "/readyz",
              .handler =
                  [access = options.access, health = options.health](const http::HttpRequest& request,
                                                                     http::ResponseWriter& writer) {
                    const bool asks_for_details = access->is_open() || access->is_shown(request, writer.peer());
                    if (asks_for_details && !access->is_open() && !access->admit(request, "", writer)) return;
                    http::HealthReport report = health(asks_for_details);
                    writer.send(http::health_response(report));
                  },
              .open = true});
}

}  // namespace weir::server
