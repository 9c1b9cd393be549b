#include <iostream>
#include <ostream>
#include <string>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "server/token_file.h"

namespace weir::cli {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;

// From standard input, so that the token is in no list of processes and no shell history.
int hash_token(const Terminal& terminal) {
  std::string token;
  for (char c; token.size() <= kMaxTokenBytes && std::cin.get(c) && c != '\n';) token += c;
  if (token.ends_with('\r')) token.pop_back();
  if (token.empty() || token.size() > kMaxTokenBytes) {
    return report_failure(terminal, "weir token hash", false,
                          {Code::invalid_argument, "expected a token of 1 to 4096 bytes on standard input"});
  }
  terminal.out << server::token_hash_text(token) << '\n';
  return kExitAllowed;
}

}  // namespace

void add_token_hash(CLI::App& parent, Session& session) {
  Command verb(parent, "hash", "Print the hash of a token, for http.tokens_file");
  verb.footer(
      "Reads one line from standard input and prints the SHA-256 of the token, in hexadecimal.\n\n"
      "Examples:\n"
      "  openssl rand -hex 32 | tee token | weir token hash >> tokens");
  verb.action(session, [&session] { return hash_token(session.terminal); });
}

}  // namespace weir::cli
