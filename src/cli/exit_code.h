// The program's exit codes. Documented in `weir --help`.
#pragma once

namespace weir::cli {

enum ExitCode : int {
  kExitAllowed = 0,  // or: done
  kExitDenied = 1,
  kExitBadInput = 2,  // wrong usage or an invalid file
  kExitFailed = 3,    // the server cannot be reached, or the operation failed
};

}  // namespace weir::cli
