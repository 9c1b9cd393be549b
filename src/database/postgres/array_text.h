// Array text: a column of many rows as PostgreSQL reads an array, "{1,2,3}" or {"a","b \\"quoted\\""}.
#pragma once

#include <cstddef>
#include <string>

#include "database/value.h"

namespace weir::database {

// Numbers are written bare, texts always in quotes, so that no text can be taken for NULL or for the end of the array.
// Precondition: every row has the column.
std::string array_text(const Rows& rows, std::size_t column);

}  // namespace weir::database
