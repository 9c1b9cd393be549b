// /admin/v1/tokens: making, listing and revoking the tokens of the admin API.
#pragma once

#include <string>

#include "admin/api.h"
#include "control/tokens.h"

namespace weir::admin {

void add_token_routes(Api& api);

// A token for answers and the audit trail: never the token itself, nor its hash.
std::string describe_token(const control::Token& token);
std::string etag_of(const control::Token& token);

}  // namespace weir::admin
