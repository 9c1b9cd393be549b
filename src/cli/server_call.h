// Calling a Weir server: the options that every verb with a server has, and one call that answers with a decision.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/decision_view.h"
#include "cli/http_client.h"
#include "cli/terminal.h"
#include "weir/result.h"

namespace weir::cli {

// As given on the command line; an empty text: not given.
struct ServerOptions {
  std::string server;
  std::string ca;
  std::string cert;
  std::string key;
  std::string token_file;
  double timeout_s = 5;
};

// Adds --server, --ca, --cert, --key, --token-file and --timeout, and returns the first.
Option add_server_options(Command& verb, ServerOptions& options);
// The same without --server.
void add_connection_options(Command& verb, ServerOptions& options);

// The same without --server.
void add_connection_options(Command& verb, ServerOptions& options);

// Completes the options with WEIR_SERVER, WEIR_CA, WEIR_CERT, WEIR_KEY, WEIR_TOKEN_FILE and WEIR_TOKEN, and reads the
// files. Warns on standard error if a token would travel unencrypted beyond this machine.
Result<ServerTarget> server_target(const ServerOptions& options, const Terminal& terminal);

struct Answer {
  std::string json;
  DecisionView decision;
};

// POSTs `body` to `path`. A denial is an answer. Failures, besides those of HttpClient: invalid_argument (the server
// says what is wrong with the request), unauthenticated, permission_denied, unimplemented (no such path), unavailable.
Result<Answer> ask(const ServerTarget& target, std::string_view path, std::string_view body);

// The failure that an answer without a decision means. `call` is what was asked, such as "POST /v1/check".
Failure refusal_of(const HttpAnswer& answer, std::string_view call);

// What to try after a failed call; empty if nothing general can be said.
std::string_view hint_for(const Failure& failure);
// The same for verbs that call the admin API.
std::string_view admin_hint_for(const Failure& failure);

}  // namespace weir::cli
