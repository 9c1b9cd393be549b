// The address of a PostgreSQL database, checked and shown without its password. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::database {

bool is_postgres_url(std::string_view text);

// "postgres://user@host:port/database". Parameters are left out: some of them are secrets.
// Failure: invalid_argument, with what is wrong, and without what may be a password.
Result<std::string> shown_postgres_url(const std::string& url);

}  // namespace weir::database
