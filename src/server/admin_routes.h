// The admin listener's routes: /metrics, /healthz, /readyz. Where there are tokens, /readyz shows a caller without one
// only whether something is wrong; what is wrong (file names, texts of rules) needs a token.
#pragma once

#include <functional>
#include <memory>

#include "admin/side_thread.h"
#include "admin/token_access.h"
#include "frontends/http/api.h"
#include "frontends/http/router.h"
#include "observe/metrics.h"

namespace weir::server {

struct AdminOptions {
  const observe::Metrics& metrics;  // outlives the router, like the next
  admin::SideThread& side;          // where a scrape is put together, so that no event loop waits for it
  std::function<http::HealthReport(bool for_operators)> health;
  std::shared_ptr<admin::TokenAccess> access{};
};

void add_admin_routes(http::Router& router, const AdminOptions& options);

}  // namespace weir::server
