// POST /v1/usage: consumption that has happened (weir/usage.h).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "frontends/http/once.h"
#include "frontends/http/router.h"
#include "frontends/transport/request_identity.h"
#include "weir/usage.h"

namespace weir::http {

struct UsageOptions {
  std::size_t body_bytes = std::size_t{1} << 20;
  OnceOptions once{};
  std::function<std::string(const HttpRequest&)> caller_of{};  // none: no one is authenticated
  // Who is asking, of this loop; null: attributes are used as they are.
  std::shared_ptr<transport::RequestIdentity> identity{};
};

// The recorder outlives the router.
void add_usage_routes(Router& router, UsageRecorder& recorder, const UsageOptions& options);

}  // namespace weir::http
