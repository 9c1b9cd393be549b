// The admin listener's routes: /metrics, /healthz, /readyz.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontends/http/api.h"
#include "frontends/http/router.h"
#include "observe/metrics.h"

namespace weir::server {

struct AdminOptions {
  const observe::Metrics& metrics;  // outlives the router
  std::vector<std::string> tokens;  // any of them opens /metrics; none: it is open
  std::function<http::HealthReport()> health;
};

std::shared_ptr<http::Router> make_admin_router(AdminOptions options);

}  // namespace weir::server
