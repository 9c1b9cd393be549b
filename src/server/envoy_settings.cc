#include "server/envoy_settings.h"

#include <utility>

#include "engine/rotating_limiter.h"

namespace weir::server {

envoy::RlsOptions rls_options(const Config& config, engine::Engine& engine, engine::Engine* incoming) {
  envoy::RlsOptions options;
  options.legacy_headers = config.http_legacy_headers;
  options.find_replaced = [&engine](std::span<const Request> requests, std::span<bool> replaced) {
    engine.find_replaced(requests, replaced);
  };
  if (config.grpc_envoy_charging != "all_or_none") return options;
  options.check_together = [&engine, incoming](std::span<const Request> requests, std::span<const AdHocCharge> charges,
                                               engine::Engine::Together done) {
    if (incoming == nullptr) return engine.check_together(requests, charges, std::move(done));
    engine::check_together(engine, *incoming, requests, charges, std::move(done));
  };
  return options;
}

}  // namespace weir::server
