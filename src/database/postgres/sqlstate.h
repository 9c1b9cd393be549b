// What PostgreSQL's five-letter error codes mean to us. Pure functions.
#pragma once

#include <string_view>

#include "database/connection.h"

namespace weir::database {

struct SqlState {
  Code code;
  Connection::Trouble trouble;
};

SqlState meaning_of(std::string_view sqlstate);

}  // namespace weir::database
