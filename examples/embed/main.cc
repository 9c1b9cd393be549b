// A program with Weir inside: no server, no network, the same rules and the same decisions.
//
//   embed rules.yaml
#include <chrono>
#include <iostream>

#include "weir/limiter.h"

namespace {

void print(const char* who, const weir::Decision& decision) {
  std::cout << who << ": " << (decision.allowed ? "allowed" : "denied") << " (" << weir::reason_name(decision.reason)
            << ")";
  if (const weir::RuleOutcome* rule = decision.decisive()) {
    std::cout << ", rule " << rule->rule << ", " << rule->remaining << " of " << rule->limit << " left";
  }
  if (!decision.allowed) std::cout << ", retry in " << weir::ceil_ms(decision.retry_after) << " ms";
  std::cout << '\n';
  // What the rule says to the client, if it has a `message`.
  if (const std::string message = weir::denial_message(decision); !message.empty()) std::cout << message << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  // From a file, as the server would read it …
  auto limiter = weir::Limiter::open(argc > 1 ? argv[1] : "rules.yaml");
  if (!limiter.ok()) {
    std::cerr << limiter.failure().message << '\n';
    return 1;
  }
  for (int i = 0; i < 4; ++i) {
    print("acme", limiter.value()->check({{"tenant", "acme"}, {"api_key", "k1"}, {"action", "search"}}));
  }

  // … or made in code.
  weir::Rule rule;
  rule.id = "exports";
  rule.match = {{"action", {"export"}}};
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = weir::Algorithm::sliding_log, .limit = 10, .window = std::chrono::hours(1)};
  auto exports = weir::Limiter::create({.rules = {rule}});
  if (!exports.ok()) {
    std::cerr << exports.failure().message << '\n';
    return 1;
  }
  print("export of 4", exports.value()->check({{{"tenant", "acme"}, {"action", "export"}}, weir::Cost{4}}));

  // Without waiting: the completion runs at once with the embedded store, later with a store on the network.
  exports.value()->check({{{"tenant", "acme"}, {"action", "export"}}, weir::Cost{7}},
                         [](const weir::Decision& decision) { print("export of 7", decision); });
  return 0;
}
