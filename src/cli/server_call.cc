#include "cli/server_call.h"

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "base/bounded_file.h"
#include "base/ip_address.h"
#include "cli/tls_stream.h"

namespace weir::cli {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;

constexpr std::string_view kTokenHint = "--token-file FILE or WEIR_TOKEN gives one";

bool is_refused_connection(const Failure& failure) {
  return failure.code == Code::unavailable && failure.message.find("Connection refused") != std::string::npos;
}

Failure invalid_server(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// The option, or else the variable; empty if neither is given.
std::string given_or(const std::string& option, const char* variable) {
  if (!option.empty()) return option;
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

// The message never quotes the token.
Result<std::string> read_token(const ServerOptions& options) {
  const std::string file = given_or(options.token_file, "WEIR_TOKEN_FILE");
  std::string token = options.token_file.empty() ? given_or({}, "WEIR_TOKEN") : std::string();
  std::string place = "WEIR_TOKEN";
  if (token.empty() && !file.empty()) {
    Result<std::string> read = base::read_bounded_file(file, kMaxTokenBytes);
    if (!read.ok()) return invalid_server("the token: " + read.failure().message);
    token = std::move(read).value();
    while (token.ends_with('\n') || token.ends_with('\r') || token.ends_with(' ')) token.pop_back();
    place = file;
    if (token.empty()) return invalid_server(place + ": is empty, expected a token");
  }
  const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (token.size() > kMaxTokenBytes || !std::all_of(token.begin(), token.end(), is_visible)) {
    return invalid_server(place + ": expected one token of at most 4096 visible ASCII characters");
  }
  return token;
}

bool is_on_this_machine(const ServerAddress& address) {
  return !address.path.empty() || address.host == "localhost" || address.host == "::1" ||
         address.host.starts_with("127.");
}

Result<std::shared_ptr<const ClientTls>> read_tls(const ServerOptions& options, const ServerAddress& address) {
  TlsFiles files{given_or(options.ca, "WEIR_CA"), given_or(options.cert, "WEIR_CERT"),
                 given_or(options.key, "WEIR_KEY")};
  if (!address.tls) {
    // The variables may be set for other servers; flags are meant for this one.
    const bool given = !options.ca.empty() || !options.cert.empty() || !options.key.empty();
    if (given) return invalid_server("--ca, --cert and --key need a server with https://; it is " + address.text);
    return std::shared_ptr<const ClientTls>();
  }
  if (files.cert.empty() && !files.key.empty())
    return invalid_server("--key " + files.key + " needs the certificate, --cert FILE");
  return ClientTls::create(files);
}

}  // namespace

Option add_server_options(Command& verb, ServerOptions& options) {
  Option server = verb.text("--server", options.server,
                            "The server: http://host:port, https://host:port or unix:/path (variable WEIR_SERVER) "
                            "[http://127.0.0.1:8080]")
                      .value("URL")
                      .group("Server");
  add_connection_options(verb, options);
  return server;
}

void add_connection_options(Command& verb, ServerOptions& options) {
  verb.text("--ca", options.ca, "PEM file of the authorities to trust, instead of the system's (WEIR_CA)")
      .value("PATH")
      .group("Server");
  verb.text("--cert", options.cert, "PEM file with a client certificate (WEIR_CERT)").value("PATH").group("Server");
  verb.text("--key", options.key, "PEM file with its private key, if it is not in the same file (WEIR_KEY)")
      .value("PATH")
      .group("Server");
  verb.text("--token-file", options.token_file,
            "File with a bearer token (WEIR_TOKEN_FILE; or the token in WEIR_TOKEN)")
      .value("PATH")
      .group("Server");
  verb.number("--timeout", options.timeout_s, 0.01, 3600.0, "Seconds to wait for the server")
      .value("SECONDS")
      .group("Server");
}

Result<ServerTarget> server_target(const ServerOptions& options, const Terminal& terminal) {
  std::string text = given_or(options.server, "WEIR_SERVER");
  if (text.empty()) text = "http://127.0.0.1:8080";
  Result<ServerAddress> address = ServerAddress::parse(text);
  if (!address.ok()) return address.failure();
  ServerTarget target;
  target.address = std::move(address).value();
  target.timeout = Duration(static_cast<std::int64_t>(options.timeout_s * 1e6));
  Result<std::shared_ptr<const ClientTls>> tls = read_tls(options, target.address);
  if (!tls.ok()) return tls.failure();
  target.tls = std::move(tls).value();
  Result<std::string> token = read_token(options);
  if (!token.ok()) return token.failure();
  target.token = std::move(token).value();
  if (!target.token.empty() && !target.address.tls && !is_on_this_machine(target.address)) {
    terminal.err << "warning: the token is sent unencrypted to " << target.address.text << "; use https://\n";
  }
  return target;
}

Failure refusal_of(const HttpAnswer& answer, std::string_view call) {
  const Result<DecisionView> read = DecisionView::read(answer.body);
  const bool has_detail = !read.ok() && read.failure().code == Code::invalid_argument;
  const std::string detail = has_detail ? ": " + shown(read.failure().message) : "";
  switch (answer.status) {
    case 400:
    case 413:
    case 422:
      return {Code::invalid_argument, has_detail ? detail.substr(2) : "the server cannot read the request"};
    case 401:
      return {Code::unauthenticated, "the server requires a valid token" + detail};
    case 403:
      return {Code::permission_denied, "the server does not allow this call" + detail};
    case 404:
    case 405:
      return {Code::unimplemented, "the server has no " + std::string(call) + "; is it an older version?"};
    case 200:
      return {Code::internal, "the answer of the server is not a decision"};
    default:
      return {Code::unavailable, "the server answered with status " + std::to_string(answer.status) + detail};
  }
}

Result<Answer> ask(const ServerTarget& target, std::string_view path, std::string_view body) {
  HttpClient client(target);
  Result<HttpAnswer> answer = client.post(path, body);
  if (!answer.ok()) return answer.failure();
  Result<DecisionView> decision = DecisionView::read(answer.value().body);
  if (!decision.ok()) return refusal_of(answer.value(), "POST " + std::string(path));
  return Answer{std::move(answer).value().body, std::move(decision).value()};
}

std::string_view hint_for(const Failure& failure) {
  if (failure.code == Code::unauthenticated) return kTokenHint;
  return is_refused_connection(failure) ? "`weir serve` starts a server; --server or WEIR_SERVER names another one"
                                        : "";
}

std::string_view admin_hint_for(const Failure& failure) {
  if (failure.code == Code::unauthenticated) return kTokenHint;
  return is_refused_connection(failure)
             ? "`weir serve` starts a server; --admin or WEIR_ADMIN names the admin listener of another one"
             : "";
}

}  // namespace weir::cli
