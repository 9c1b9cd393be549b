// `weir refund` and `weir reset`: the calls that change buckets without deciding. Only against a server: a process of
// its own would start with full buckets, and have nothing to give back.
#include <memory>
#include <ostream>

#include "cli/attribute_args.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/server_call.h"
#include "cli/verbs.h"
#include "weir/allowance.h"

namespace weir::cli {
namespace {

enum class Kind { refund, reset };

struct RefundOptions {
  std::vector<std::string> words;
  std::int64_t cost = 1;
  bool json = false;
  std::string reason;  // of a reset
  ServerOptions server;
};

Result<Answer> call(Kind kind, const RefundOptions& options, const Terminal& terminal) {
  const Result<AttributeArgs> args = AttributeArgs::parse(options.words);
  if (!args.ok()) return args.failure();
  const Result<ServerTarget> target = server_target(options.server, terminal);
  if (!target.ok()) return target.failure();
  const bool refunds = kind == Kind::refund;
  const std::string body =
      refunds ? args.value().check_body(options.cost, false) : args.value().reset_body(options.reason);
  Result<Answer> answer = ask(target.value(), refunds ? "/v1/refund" : "/v1/reset", body);
  if (answer.ok() && answer.value().decision.degraded) {
    return Failure{Code::unavailable,
                   "the store of the server did not answer: it is not known whether anything changed"};
  }
  return answer;
}

int run(Kind kind, const RefundOptions& options, const Terminal& terminal) {
  const bool refunds = kind == Kind::refund;
  const Result<Answer> answer = call(kind, options, terminal);
  if (!answer.ok()) {
    const std::string_view verb = refunds ? "weir refund" : "weir reset";
    return report_failure(terminal, verb, options.json, answer.failure(), hint_for(answer.failure()));
  }
  const DecisionView& decision = answer.value().decision;
  if (options.json) {
    terminal.out << answer.value().json << '\n';
  } else if (decision.rules.empty()) {
    terminal.out << terminal.paint(Colour::yellow, "no rule applies") << ": nothing was "
                 << (refunds ? "refunded\n" : "reset\n");
  } else {
    const std::string done = refunds ? "refunded " + std::to_string(options.cost) : "reset";
    terminal.out << terminal.paint(Colour::green, done) << '\n';
    decision.show_rules(terminal, false);
  }
  return kExitAllowed;
}

void add_common(Command& verb, RefundOptions& options) {
  verb.words("attributes", options.words, "The request's attributes, name=value each; names may repeat");
  verb.flag("--json", options.json, "Print the server's JSON answer, and errors as {\"error\":{…}}");
  add_server_options(verb, options.server);
}

}  // namespace

void add_refund(CLI::App& parent, Session& session) {
  Command verb(parent, "refund", "Give back what a request was charged");
  const auto options = std::make_shared<RefundOptions>();
  verb.integer("--cost", options->cost, 0, kMaxUnits, "What the request had cost");
  add_common(verb, *options);
  verb.footer("Every rule that applies to the request gets the cost back, never more than it can hold.\n" +
              std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir refund tenant=acme api_key=k1 action=search\n"
              "  weir refund tenant=acme api_key=k1 --cost 5 --json");
  verb.action(session, [&session, options] { return run(Kind::refund, *options, session.terminal); });
}

void add_reset(CLI::App& parent, Session& session) {
  Command verb(parent, "reset", "Forget what a caller has used");
  const auto options = std::make_shared<RefundOptions>();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT");
  add_common(verb, *options);
  verb.footer("The buckets of every rule that applies to the request become full again.\n" +
              std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir reset tenant=acme api_key=k1 action=search\n"
              "  weir reset tenant=acme --reason \"a broken client, ticket 812\"\n"
              "  weir reset tenant=acme --server https://limits.example --token-file token");
  verb.action(session, [&session, options] { return run(Kind::reset, *options, session.terminal); });
}

}  // namespace weir::cli
