// /admin/v1/session: who the caller is; logging in to the console and out of it.
#pragma once

#include <memory>
#include <string>

#include "admin/api.h"
#include "admin/token_access.h"

namespace weir::admin {

void add_session_routes(Api& api, std::shared_ptr<TokenAccess> access, std::string version);

}  // namespace weir::admin
