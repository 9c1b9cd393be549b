// What is wrong with a command line that could not be parsed, and what was probably meant. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/verb_view.h"

namespace weir::cli {

struct UsageError {
  std::string verb;     // "weir rules validate"
  std::string message;  // "unknown option --port"
  std::string hint;     // "did you mean --listen-http ADDRESS? (weir serve --help-all lists all options)"
};

// Precondition: parsed.kind is Kind::wrong.
UsageError usage_error(const VerbView& program, const Parsed& parsed);

// Whether a word in a verb's place is no verb; the parser would only say that one is missing.
bool find_unknown_verb(const VerbView& program, const std::vector<std::string>& words, UsageError& found);

}  // namespace weir::cli
