// What is wrong with a command line that could not be parsed, and what was probably meant. Includes no parser header:
// for program.cc and tests.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace weir::cli {

struct UsageError {
  std::string verb;     // "weir rules validate"
  std::string message;  // "unknown option --port"
  std::string hint;     // "did you mean --listen-http ADDRESS? (weir serve --help-all lists all options)"
};

// Of the parser's error, after program.parse() threw it.
UsageError usage_error(const CLI::App& program, const CLI::ParseError& error);

// Whether a word in a verb's place is no verb; the parser would only say that a subcommand is missing.
bool find_unknown_verb(const CLI::App& program, const std::vector<std::string>& words, UsageError& found);

}  // namespace weir::cli
