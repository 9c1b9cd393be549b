// The query of a check: which status a denial gets, for callers that need another one than 429 or 503.
#pragma once

#include <string_view>

#include "weir/result.h"

namespace weir::render {

enum class UnknownParameters : bool { refused, ignored };

// "" (0: the default one) or "deny_status=403". The failure names the parameter.
Result<int> read_deny_status(std::string_view query, UnknownParameters unknown = UnknownParameters::refused);

}  // namespace weir::render
