// /admin/v1/state: what this node is and how it is doing.
#pragma once

#include "admin/api.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/connections_module.h"
#include "server/server_context.h"

namespace weir::server {

// All are borrowed.
void add_state_route(admin::Api& api, ServerContext& context, AdminToolsModule& tools,
                     const ConnectionsModule& connections);

}  // namespace weir::server
