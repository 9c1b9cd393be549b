// POST /admin/v1/refund: gives back to one subject what it was charged.
#include <algorithm>
#include <memory>
#include <utility>

#include "admin/subject_change.h"
#include "weir/ask.h"

namespace weir::admin {
namespace {

// Limits that got something back. Leases end when they are released, so they get nothing.
std::int64_t refunded_limits(const Decision& decision) {
  return std::count_if(decision.rules.begin(), decision.rules.end(), [](const RuleOutcome& rule) {
    return !rule.unlimited && !rule.store_failed && rule.kind != ChargeKind::lease && rule.cost > 0;
  });
}

Answer answer_refund(const Decision& decision) {
  if (decision.degraded) {
    return problem(503, "store_unavailable", "the store did not answer; whether the cost was given back is not known");
  }
  JsonWriter out;
  out.begin_object();
  out.member("refunded", refunded_limits(decision));
  out.end_object();
  return json_answer(out.take());
}

}  // namespace

// The entry in the audit trail is written first.
void add_refund_route(Api& api, Limiter& limiter) {
  api.post("/refund", control::Role::operator_, [&limiter](Call& call) {
    Members body = call.body();
    std::vector<std::pair<std::string, std::string>> attributes = read_attributes(body);
    std::vector<std::string> rules = read_rules(body);
    const std::int64_t cost = body.number("cost", 1, kMaxUnits);
    std::string reason = body.reason();
    if (!call.accepts(body)) return;
    const auto change = std::make_shared<const SubjectChange>(std::move(attributes), std::move(rules));
    AuditNote note{"subject.refund", "subject", {}, change->json(call.environment(), "cost", cost), std::move(reason)};
    call.record_then(std::move(note), [&limiter, change, cost](const LaterAnswer& later) {
      const auto send = [change, later](const Decision& decision) { later.send(answer_refund(decision)); };
      ask(limiter, Action::refund, change->request(Cost{cost}), send, [&] { return send; });
    });
  });
}

}  // namespace weir::admin
