// How Envoy's calls are answered, over gRPC and over /json, as configured.
#pragma once

#include <memory>

#include "frontends/envoy/rls_decider.h"
#include "server/config.h"
#include "weir/time.h"

namespace weir::server {

envoy::RlsOptions rls_options(const Config& config, std::shared_ptr<Clock> clock);

}  // namespace weir::server
