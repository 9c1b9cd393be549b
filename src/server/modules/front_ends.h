// The modules that listen, one for each protocol. Each registers its listener, which may be off.
#pragma once

#include <memory>

#include "server/module.h"
#include "server/modules/decisions_module.h"
#include "server/modules/identity_module.h"
#include "server/modules/redis_module.h"
#include "server/modules/rules_module.h"
#include "server/server_context.h"

namespace weir::server {

// The HTTP API: checks, Envoy's /json, forward auth, health.
std::unique_ptr<Module> make_http_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity,
                                         const RedisModule& redis);
// gRPC: Envoy's rate limit service, weir.v1.Limiter, health and reflection.
std::unique_ptr<Module> make_grpc_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity);
// The Redis protocol.
std::unique_ptr<Module> make_resp_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity);
// HAProxy's agent protocol.
std::unique_ptr<Module> make_spop_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity);
// For operators: metrics and health.
std::unique_ptr<Module> make_admin_module(ServerContext& context, const DecisionsModule& decisions,
                                          const RulesModule& rules);

}  // namespace weir::server
