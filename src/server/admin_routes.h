// The admin listener's routes: /metrics, /healthz, /readyz. Where there are tokens, /readyz shows a caller without one
// only whether something is wrong; what is wrong (file names, texts of rules) needs a token.
#pragma once

#include <functional>
#include <memory>

#include "frontends/http/api.h"
#include "frontends/http/router.h"
#include "frontends/http/token_guard.h"
#include "observe/metrics.h"

namespace weir::server {

struct AdminOptions {
  const observe::Metrics& metrics;  // outlives the router
  std::function<http::HealthReport(bool for_operators)> health;
  std::shared_ptr<http::TokenGuard> guard{};  // null: everything is open
};

void add_admin_routes(http::Router& router, const AdminOptions& options);

}  // namespace weir::server
