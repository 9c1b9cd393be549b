#include "server/envoy_settings.h"

#include <utility>

#include "server/listener_settings.h"

namespace weir::server {

envoy::RlsOptions rls_options(const Config& config, std::shared_ptr<Clock> clock) {
  envoy::RlsOptions options;
  options.fields = header_options(config);
  options.clock = std::move(clock);
  options.all_or_none = config.grpc_envoy_charging == "all_or_none";
  return options;
}

}  // namespace weir::server
