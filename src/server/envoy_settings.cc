#include "server/envoy_settings.h"

namespace weir::server {

envoy::RlsOptions rls_options(const Config& config) {
  envoy::RlsOptions options;
  options.legacy_headers = config.http_legacy_headers;
  options.all_or_none = config.grpc_envoy_charging == "all_or_none";
  return options;
}

}  // namespace weir::server
