#include <utility>

#include "admin/subject_routes.h"
#include "weir/ask.h"

namespace weir::admin {
namespace {

// What is to be reset, and how the audit trail describes it.
struct Reset {
  Reset(std::vector<std::pair<std::string, std::string>> attributes, std::vector<std::string> only,
        std::optional<std::int64_t> count)
      : kept(std::move(attributes)), names(std::move(only)), expected(count) {
    for (const std::string& each : names) rules.push_back(each);
    view.rules = rules;
  }

  Request request() const {
    Request made(kept.attributes);
    made.by_operator = &view;
    return made;
  }
  std::string json() const {
    JsonWriter out;
    out.begin_object();
    out.begin_object("attributes");
    for (const auto& [name, value] : kept.texts) out.member(name, value);
    out.end_object();
    out.begin_array("rules");
    for (const std::string& each : names) out.value(each);
    out.end_array();
    out.member("expected_count", expected);
    out.end_object();
    return out.take();
  }

  const KeptAttributes kept;
  const std::vector<std::string> names;
  const std::optional<std::int64_t> expected;
  std::vector<std::string_view> rules;
  OperatorView view;
};

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

void reset_now(Limiter& limiter, const std::shared_ptr<const Reset>& reset, const LaterAnswer& later) {
  const Request request = reset->request();
  ask(
      limiter, Action::reset, request, [&](const Decision& decision) { later.send(answer_reset(decision)); },
      [reset, later] { return [reset, later](const Decision& decision) { later.send(answer_reset(decision)); }; });
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
    std::vector<std::string> rules = body.has("rules") ? body.texts("rules") : std::vector<std::string>{};
    const std::optional<std::int64_t> expected = body.optional_number("expected_count", 0, kMaxUnits);
    std::string reason = body.reason();
    if (!call.accepts(body)) return;
    const auto reset = std::make_shared<const Reset>(std::move(attributes), std::move(rules), expected);
    AuditNote note{"subject.reset", "subject", {}, reset->json(), std::move(reason)};
    const auto go = [&limiter, reset](const LaterAnswer& later) {
      if (!reset->expected) return reset_now(limiter, reset, later);
      const auto compare = [&limiter, reset, expected = *reset->expected, later](const Decision& decision) {
        const std::int64_t count = buckets_of(decision);
        if (count != expected) return later.send(wrong_count(count, expected));
        reset_now(limiter, reset, later);
      };
      const Request request = reset->request();
      ask(limiter, Action::peek, request, compare, [&] { return compare; });
    };
    call.record_then(std::move(note), go);
  });
}

}  // namespace weir::admin
