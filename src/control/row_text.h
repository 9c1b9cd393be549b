// Rows of a table as one text, for the files in which a node keeps what it last knew. Pure.
//
//   "weir-rows 1\n", then for each row its values and a newline. A value is `n`, `i` and a number and `;`, or `t`, the
//   number of bytes, `:` and the bytes.
#pragma once

#include <string>
#include <string_view>

#include "database/value.h"
#include "weir/result.h"

namespace weir::control {

std::string write_rows(const database::Rows& rows);
// Failure: data_loss.
Result<database::Rows> read_rows(std::string_view text);

}  // namespace weir::control
