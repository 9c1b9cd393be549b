#include <memory>
#include <ostream>

#include "cli/attribute_args.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/server_call.h"
#include "cli/verbs.h"
#include "frontends/render/decision_json.h"
#include "weir/limiter.h"

namespace weir::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> words;
  std::int64_t cost = 1;
  bool peek = false;
  bool json = false;
  ServerOptions server;
  std::string local;
};

// The decision of this process, with full buckets.
Result<Answer> decide_here(const CheckOptions& options, const AttributeArgs& args) {
  Result<std::unique_ptr<Limiter>> limiter = Limiter::open(options.local);
  if (!limiter.ok()) return Failure{Code::invalid_argument, limiter.failure().message};
  const std::vector<Attribute> attributes = args.attributes();
  Request request(attributes, Cost{options.cost});
  request.peek = options.peek;
  const Decision decision = limiter.value()->check(request);
  Answer answer;
  if (decision.allowed) {
    render::append_decision(answer.json, decision);
  } else {
    render::append_denial(answer.json, decision, render::default_status(decision));
  }
  Result<DecisionView> view = DecisionView::read(answer.json);
  if (!view.ok()) return view.failure();
  answer.decision = std::move(view).value();
  return answer;
}

Result<Answer> decide(const CheckOptions& options, const Terminal& terminal) {
  const Result<AttributeArgs> args = AttributeArgs::parse(options.words);
  if (!args.ok()) return args.failure();
  if (!options.local.empty()) return decide_here(options, args.value());
  const Result<ServerTarget> target = server_target(options.server, terminal);
  if (!target.ok()) return target.failure();
  return ask(target.value(), "/v1/check", args.value().check_body(options.cost, options.peek));
}

int check(const CheckOptions& options, const Terminal& terminal) {
  const Result<Answer> answer = decide(options, terminal);
  if (!answer.ok()) {
    return report_failure(terminal, "weir check", options.json, answer.failure(), hint_for(answer.failure()));
  }
  if (options.json) {
    terminal.out << answer.value().json << '\n';
  } else {
    answer.value().decision.show(terminal);
  }
  return answer.value().decision.allowed ? kExitAllowed : kExitDenied;
}

}  // namespace

void add_check(CLI::App& parent, Session& session) {
  Command verb(parent, "check", "Ask whether a request may proceed");
  const auto options = std::make_shared<CheckOptions>();
  verb.words("attributes", options->words, "The request's attributes, name=value each; names may repeat");
  verb.integer("--cost", options->cost, 0, kMaxUnits, "What the request costs");
  verb.flag("--peek", options->peek, "Show the decision without charging anything");
  verb.flag("--json", options->json, "Print the server's JSON answer, and errors as {\"error\":{…}}");
  const Option server = add_server_options(verb, options->server);
  verb.text("--local", options->local, "Decide in this process with this rules file or folder, without a server")
      .value("PATH")
      .excludes(server);
  verb.footer(
      "Exit codes: 0 allowed, 1 denied, 2 bad input, 3 the server cannot be reached.\n\n"
      "Examples:\n"
      "  weir check tenant=acme api_key=k1 action=search\n"
      "  weir check tenant=acme api_key=k1 --cost 5 --peek\n"
      "  weir check tenant=acme --server unix:/run/weir/http.sock --json\n"
      "  weir check tenant=acme --server https://limits.example --ca ca.pem --cert me.pem --key me.key\n"
      "  weir check tenant=acme plan=free --local rules.yaml");
  verb.action(session, [&session, options] { return check(*options, session.terminal); });
}

}  // namespace weir::cli
