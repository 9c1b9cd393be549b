// The command line: what main() calls.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace weir::cli {

// Returns an ExitCode.
int run(int argc, char** argv);
// The same with the words after the program's name, for tests.
int run(std::vector<std::string> words, const Terminal& terminal);

}  // namespace weir::cli
