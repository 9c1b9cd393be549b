// The program's exit codes. Documented in `weir --help`.
#pragma once

namespace weir::cli {

enum ExitCode : int {
  kExitAllowed = 0,  // or: done
  kExitDenied = 1,
  kExitBadInput = 2,  // wrong usage or an invalid file
  kExitFailed = 3,    // the server cannot be reached, or the operation failed
};

// Of the verbs that only tell a server to do something, for their --help.
inline constexpr const char* kServerExitCodes =
    "Exit codes: 0 done, 2 bad input, 3 the server cannot be reached or refused.\n\n";

}  // namespace weir::cli
