// POST /admin/v1/reset: forgets what a subject has used.
#include <memory>
#include <utility>

#include "admin/subject_change.h"
#include "weir/ask.h"

namespace weir::admin {
namespace {

// Buckets that a reset forgets: one for each rule that counts something.
std::int64_t buckets_of(const Decision& decision) {
  std::int64_t count = 0;
  for (const RuleOutcome& rule : decision.rules) count += rule.unlimited ? 0 : 1;
  return count;
}

Answer answer_reset(const Decision& decision) {
  if (decision.degraded) {
    return problem(503, "store_unavailable", "the store did not answer; whether the buckets were reset is not known");
  }
  JsonWriter out;
  out.begin_object();
  out.member("reset", buckets_of(decision));
  out.end_object();
  return json_answer(out.take());
}

void reset_now(Limiter& limiter, const std::shared_ptr<const SubjectChange>& reset, const LaterAnswer& later) {
  const auto send = [reset, later](const Decision& decision) { later.send(answer_reset(decision)); };
  ask(limiter, Action::reset, reset->request(), send, [&] { return send; });
}

Answer wrong_count(std::int64_t count, std::int64_t expected) {
  return problem(409, "count_differs",
                 "this resets " + std::to_string(count) + " buckets, not " + std::to_string(expected),
                 ",\"count\":" + std::to_string(count));
}

}  // namespace

// The entry in the audit trail is written first and tells what was asked for. With `expected_count` the buckets are
// then counted, and if there are not as many nothing is reset.
void add_reset_route(Api& api, Limiter& limiter) {
  api.post("/reset", control::Role::operator_, [&limiter](Call& call) {
    Members body = call.body();
    std::vector<std::pair<std::string, std::string>> attributes = read_attributes(body);
    std::vector<std::string> rules = read_rules(body);
    const std::optional<std::int64_t> expected = body.optional_number("expected_count", 0, kMaxUnits);
    std::string reason = body.reason();
    if (!call.accepts(body)) return;
    const auto reset = std::make_shared<const SubjectChange>(std::move(attributes), std::move(rules));
    AuditNote note{
        "subject.reset", "subject", {}, reset->json(call.environment(), "expected_count", expected), std::move(reason)};
    const auto go = [&limiter, reset, expected](const LaterAnswer& later) {
      if (!expected) return reset_now(limiter, reset, later);
      const auto compare = [&limiter, reset, expected = *expected, later](const Decision& decision) {
        const std::int64_t count = buckets_of(decision);
        if (count != expected) return later.send(wrong_count(count, expected));
        reset_now(limiter, reset, later);
      };
      ask(limiter, Action::peek, reset->request(), compare, [&] { return compare; });
    };
    call.record_then(std::move(note), go);
  });
}

}  // namespace weir::admin
