// /admin/v1/rules/{id}/candidate: what other numbers, or a rule in shadow mode, would have changed. How a candidate is
// promoted or discarded is in rules_routes.cc.
#include <algorithm>

#include "admin/rule_text.h"
#include "admin/traffic.h"
#include "rules/compile/rule_check.h"

namespace weir::admin {
namespace {

using observe::RolloutCounts;
using observe::RolloutReport;

// The rule with the candidate's numbers as its own.
Rule with_numbers(const Rule& rule, const AllowanceChange& change) {
  Rule changed = rule;
  changed.allowance = rules::changed_spec(rule, change);
  return changed;
}

void write_counts(JsonWriter& out, const RolloutReport& report) {
  const std::uint64_t differs = report.would_deny + report.would_allow;
  out.member("since", report.since == TimePoint{} ? std::nullopt : std::optional(report.since));
  out.member("requests", report.requests);
  out.member("warming", report.warming);
  out.member("would_deny", report.would_deny);
  out.member("would_allow", report.would_allow);
  out.member("would_change", differs);
  out.member("share", report.requests == 0 ? 0.0 : static_cast<double>(differs) / static_cast<double>(report.requests));
}

void write_subjects(JsonWriter& out, const Traffic& traffic, std::uint32_t ordinal, const RolloutReport& report) {
  std::vector<observe::SubjectKey> keys;
  for (const observe::RolloutSubject& each : report.subjects) keys.push_back({each.key, ordinal});
  const SubjectNames names(traffic, keys);
  out.begin_array("subjects");
  for (const observe::RolloutSubject& each : report.subjects) {
    out.begin_object();
    out.member("subject", subject_of(each.key, each.shared));
    out.member("text", names.find({each.key, ordinal}));
    out.member("would_deny", each.would_deny);
    out.member("would_allow", each.would_allow);
    out.end_object();
  }
  out.end_array();
}

Answer show_report(const Traffic& traffic, const std::string& id) {
  const std::shared_ptr<const rules::RuleSet> set = traffic.rules.current();
  const auto rule =
      std::find_if(set->rules().begin(), set->rules().end(), [&](const auto& each) { return each.name.id == id; });
  if (rule == set->rules().end()) return not_found("rule", id);
  if (!rule->candidate && rule->mode != Mode::shadow) {
    return problem(404, "no_candidate", "the rule " + id + " has no candidate and is not in shadow mode");
  }
  JsonWriter out;
  out.begin_object();
  out.member("rule", id);
  out.member("kind", rule->candidate ? "candidate" : "shadow");
  if (rule->candidate) {
    write_candidate_report(out, traffic, *rule);
    write_subjects(out, traffic, rule->name.ordinal,
                   traffic.rollout(rule->name.ordinal, RolloutCounts::Kind::candidate));
  } else {
    out.member("summary", summary_of(rule->source));
    out.member("limit", rule->source.unlimited ? std::nullopt : std::optional(rule->source.allowance.limit));
    out.null_member("warming_until");
    const RolloutReport report = traffic.rollout(rule->name.ordinal, RolloutCounts::Kind::shadow);
    write_counts(out, report);
    write_subjects(out, traffic, rule->name.ordinal, report);
  }
  out.end_object();
  return json_answer(out.take());
}

}  // namespace

void write_candidate_report(JsonWriter& out, const Traffic& traffic, const rules::CompiledRule& rule) {
  out.member("summary", summary_of(with_numbers(rule.source, *rule.source.candidate)));
  out.member("limit", rule.candidate->limit);
  // Kept also when that has passed: a node tells from it since when it compares.
  out.member("warming_until", rule.candidate_since + rule.candidate->window);
  write_counts(out, traffic.rollout(rule.name.ordinal, RolloutCounts::Kind::candidate));
}

void add_candidate_routes(Api& api, const Traffic& traffic) {
  api.get("/rules/{id}/candidate", [&traffic](Call& call) {
    run_aside(call, traffic, [&traffic, id = call.parameter("id")] { return show_report(traffic, id); });
  });
}

}  // namespace weir::admin
