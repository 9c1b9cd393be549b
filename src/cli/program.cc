#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "server/version.h"

namespace weir::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 allowed or done, 1 denied, 2 wrong usage or a file that does not hold up,\n"
    "3 the server cannot be reached or the operation failed.\n"
    "\n"
    "Examples:\n"
    "  weir serve                                   quickstart: memory store, built-in rules\n"
    "  weir check tenant=acme api_key=k1            ask the server on 127.0.0.1:8080\n"
    "  weir rules validate rules.yaml               is the file sound?\n"
    "  weir rules explain rules.yaml tenant=acme    which rules apply, and why not the others\n"
    "\n"
    "`weir VERB --help` tells more about each.";

void assemble(CLI::App& program, Session& session) {
  program.require_subcommand(1);
  program.footer(kFooter);
  program.set_version_flag("--version", "weir " + std::string(server::kVersion), "Print the version and exit");
  add_serve(program, session);
  add_check(program, session);
  CLI::App* rules = program.add_subcommand("rules", "Work with rules files");
  rules->require_subcommand(1);
  add_rules_validate(*rules, session);
  add_rules_explain(*rules, session);
  add_rules_import(*rules, session);
  add_bench(program, session);
  add_version(program, session);
  add_completion(program, session);
}

// The first word that stands in a verb's place and is none; empty if there is none. CLI11 would only say that a
// subcommand is missing.
std::string unknown_verb(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* parent = &program;
  for (const std::string& word : words) {
    const auto verbs = parent->get_subcommands([](const CLI::App*) { return true; });
    if (word.starts_with('-') || verbs.empty()) return {};
    const auto named =
        std::find_if(verbs.begin(), verbs.end(), [&](const CLI::App* verb) { return verb->check_name(word); });
    if (named == verbs.end()) return word;
    parent = *named;
  }
  return {};
}

}  // namespace

int run(std::vector<std::string> words, const Terminal& terminal) {
  CLI::App program("Weir: rate limiting and quota enforcement", "weir");
  Session session{terminal, {}};
  assemble(program, session);
  if (const std::string unknown = unknown_verb(program, words); !unknown.empty()) {
    terminal.err << "weir: '" << unknown << "' is not a verb; `weir --help` lists them\n";
    return kExitBadInput;
  }
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    program.parse(words);
  } catch (const CLI::ParseError& error) {
    return program.exit(error, terminal.out, terminal.err) == 0 ? kExitAllowed : kExitBadInput;
  }
  return session.action();
}

int run(int argc, char** argv) {
  const Terminal terminal{std::cout, std::cerr, takes_colours(1)};
  const int code = run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), terminal);
  std::cout.flush();
  return code == kExitAllowed && !std::cout ? kExitFailed : code;  // the disk was full, the pipe was closed
}

}  // namespace weir::cli
