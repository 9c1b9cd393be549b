// The modules that listen, one for each protocol. Each registers its listener, which may be off.
#pragma once

#include <memory>

#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/connections_module.h"
#include "server/modules/decisions_module.h"
#include "server/modules/identity_module.h"
#include "server/modules/redis_module.h"
#include "server/modules/rules_module.h"
#include "server/server_context.h"

namespace weir::server {

class OperatorsModule;
class TracingModule;

// The HTTP API: checks, Envoy's /json, forward auth, health.
std::unique_ptr<Module> make_http_module(ServerContext& context, AdminToolsModule& tools, DecisionsModule& decisions,
                                         IdentityModule& identity, const RedisModule& redis,
                                         const TracingModule& tracing);
// gRPC: Envoy's rate limit service, weir.v1.Limiter, health and reflection.
std::unique_ptr<Module> make_grpc_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity,
                                         const TracingModule& tracing);
// The Redis protocol.
std::unique_ptr<Module> make_resp_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity);
// HAProxy's agent protocol.
std::unique_ptr<Module> make_spop_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity);
// For people: the web console, on the admin listener.
std::unique_ptr<Module> make_console_module(ServerContext& context);
// For operators: metrics, health, sessions, tokens, the audit trail.
std::unique_ptr<Module> make_admin_module(ServerContext& context, AdminToolsModule& tools,
                                          const DecisionsModule& decisions, const RulesModule& rules,
                                          const ConnectionsModule& connections);
// For operators: what the server has decided, about whom and why (traffic_module.h).
std::unique_ptr<Module> make_traffic_routes_module(ServerContext& context, AdminToolsModule& tools,
                                                   const RulesModule& rules, const OperatorsModule& operators,
                                                   const TrafficModule& traffic, DecisionsModule& decisions);

}  // namespace weir::server
