// How Envoy's calls are answered, over gRPC and over /json, as configured.
#pragma once

#include "engine/engine.h"
#include "frontends/envoy/rls_decider.h"
#include "server/config.h"

namespace weir::server {

// `incoming` is the engine of the current key during a rotation, or null. Borrows both engines.
envoy::RlsOptions rls_options(const Config& config, engine::Engine& engine, engine::Engine* incoming);

}  // namespace weir::server
