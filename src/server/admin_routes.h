// The admin listener's routes: /metrics, /healthz, /readyz. Where there are tokens, /readyz tells a probe without one
// only whether something is wrong; what it is (file names, texts of rules) takes a token.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontends/http/api.h"
#include "frontends/http/router.h"
#include "frontends/transport/login_guard.h"
#include "observe/metrics.h"

namespace weir::server {

struct AdminOptions {
  const observe::Metrics& metrics;  // outlives the router
  std::vector<std::string> tokens;  // any of them opens /metrics; none: it is open
  std::function<http::HealthReport(bool with_details)> health;
  std::shared_ptr<transport::LoginGuard> logins{};  // null: a wrong token has no consequences
};

void add_admin_routes(http::Router& router, AdminOptions options);

}  // namespace weir::server
