// What the program's exit code tells a script. Documented in `weir --help`.
#pragma once

namespace weir::cli {

enum ExitCode : int {
  kExitAllowed = 0,  // also: the command did what it was asked
  kExitDenied = 1,
  kExitBadInput = 2,  // wrong usage, a file that does not hold up
  kExitFailed = 3,    // the server cannot be reached, or the operation failed
};

}  // namespace weir::cli
