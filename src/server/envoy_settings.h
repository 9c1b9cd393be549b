// How Envoy's calls are answered, over gRPC and over /json, as configured.
#pragma once

#include "frontends/envoy/rls_decider.h"
#include "server/config.h"

namespace weir::server {

envoy::RlsOptions rls_options(const Config& config);

}  // namespace weir::server
