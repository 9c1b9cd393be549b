#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/attribute_args.h"
#include "cli/decision_view.h"
#include "cli/exit_code.h"
#include "cli/http_client.h"
#include "cli/verbs.h"
#include "frontends/render/decision_json.h"
#include "weir/limiter.h"

namespace weir::cli {
namespace {

struct Options {
  std::vector<std::string> words;
  std::int64_t cost = 1;
  bool peek = false;
  bool json = false;
  std::string server = "http://127.0.0.1:8080";
  std::string local;
  double timeout_s = 5;
};

int fail(const Terminal& terminal, const Failure& failure) {
  terminal.err << "weir check: " << failure.message << '\n';
  return failure.code == Code::invalid_argument ? kExitBadInput : kExitFailed;
}

// The decision's JSON, made in this process with buckets as good as new.
Result<std::string> decide_here(const Options& options, const AttributeArgs& args) {
  Result<std::unique_ptr<Limiter>> limiter = Limiter::open(options.local);
  if (!limiter.ok()) return Failure{Code::invalid_argument, limiter.failure().message};
  const std::vector<Attribute> attributes = args.attributes();
  Request request(attributes, Cost{options.cost});
  request.peek = options.peek;
  const Decision decision = limiter.value()->check(request);
  std::string json;
  if (decision.allowed) {
    http::append_decision(json, decision);
  } else {
    http::append_denial(json, decision, http::default_status(decision));
  }
  return json;
}

Result<std::string> ask_server(const Options& options, const AttributeArgs& args) {
  Result<ServerAddress> address = ServerAddress::parse(options.server);
  if (!address.ok()) return address.failure();
  HttpClient client(std::move(address).value(), Duration(static_cast<std::int64_t>(options.timeout_s * 1e6)));
  Result<HttpAnswer> answer = client.post("/v1/check", args.check_body(options.cost, options.peek));
  if (!answer.ok()) return answer.failure();
  return std::move(answer).value().body;
}

int check(const Options& options, const Terminal& terminal) {
  const Result<AttributeArgs> args = AttributeArgs::parse(options.words);
  if (!args.ok()) return fail(terminal, args.failure());
  const Result<std::string> json =
      options.local.empty() ? ask_server(options, args.value()) : decide_here(options, args.value());
  if (!json.ok()) return fail(terminal, json.failure());
  const Result<DecisionView> decision = DecisionView::read(json.value());
  if (options.json) {
    terminal.out << json.value() << '\n';
  } else if (decision.ok()) {
    decision.value().show(terminal);
  }
  if (!decision.ok()) return fail(terminal, decision.failure());
  return decision.value().allowed ? kExitAllowed : kExitDenied;
}

}  // namespace

void add_check(CLI::App& parent, Session& session) {
  CLI::App* verb = parent.add_subcommand("check", "Ask whether a request may proceed");
  const auto options = std::make_shared<Options>();
  verb->add_option("attributes", options->words, "The request's attributes, name=value each; names may repeat");
  verb->add_option("--cost", options->cost, "What the request costs")
      ->check(CLI::Range(std::int64_t{0}, kMaxUnits))
      ->capture_default_str();
  verb->add_flag("--peek", options->peek, "Only look, charge nothing");
  CLI::Option* server =
      verb->add_option("--server", options->server, "The server to ask: http://host:port or unix:/path")
          ->envname("WEIR_SERVER")
          ->capture_default_str();
  verb->add_option("--local", options->local, "Decide in this process by this rules file or folder, without a server")
      ->excludes(server);
  verb->add_option("--timeout", options->timeout_s, "Seconds to wait for the server")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "For machines: the server's answer as it is");
  verb->footer(
      "Exit codes: 0 allowed, 1 denied, 2 bad input, 3 the server cannot be reached.\n\n"
      "Examples:\n"
      "  weir check tenant=acme api_key=k1 action=search\n"
      "  weir check tenant=acme api_key=k1 --cost 5 --peek\n"
      "  weir check tenant=acme --server unix:/run/weir/http.sock --json\n"
      "  weir check tenant=acme plan=free --local rules.yaml");
  verb->callback(
      [&session, options] { session.action = [&session, options] { return check(*options, session.terminal); }; });
}

}  // namespace weir::cli
