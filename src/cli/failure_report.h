// How a verb reports that it failed: a line for people on standard error or, with --json, an object on standard output:
//
//   {"error":{"code":"unavailable","message":"cannot reach …","hint":"…"}}
//
// `code` is the name of a Code; `hint` is left out if there is none.
#pragma once

#include <string_view>

#include "cli/terminal.h"
#include "weir/result.h"

namespace weir::cli {

// `verb` as typed: "weir rules validate". Returns the exit code: kExitBadInput for invalid_argument, else kExitFailed.
int report_failure(const Terminal& terminal, std::string_view verb, bool json, const Failure& failure,
                   std::string_view hint = {});

}  // namespace weir::cli
