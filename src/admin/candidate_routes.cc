// /admin/v1/rules/{id}/candidate: what other numbers, or a rule in shadow mode, would have changed. How a candidate is
// promoted or discarded is in rules_routes.cc.
#include <algorithm>

#include "admin/rule_text.h"
#include "admin/traffic.h"
#include "base/ascii.h"
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

// As GET /rules has it. Of these rules, not of those that are the latest by now.
std::string etag_of(const Traffic& traffic, const rules::RuleSet& set) {
  return traffic.rules_source == "database" ? std::to_string(set.told_version()) : base::hex_text(set.told_hash());
}

struct FoundLimit {
  std::string subject;
  std::int64_t limit = 0;
};

// The limits that the metric shows.
std::vector<FoundLimit> found_limits(const Traffic& traffic, std::string_view rule) {
  std::vector<FoundLimit> found;
  for (const observe::FactMetric& each : traffic.facts().more) {
    if (each.name != "weir_adaptive_limit" || each.labels.size() != 2 || each.labels[0].second != rule) continue;
    found.push_back({std::string(each.labels[1].second), static_cast<std::int64_t>(each.value)});
  }
  return found;
}

// The limit that a rule with `limit: {auto: …}` has found, for each subject.
void write_found_limits(JsonWriter& out, const Traffic& traffic, const rules::CompiledRule& rule) {
  const std::vector<FoundLimit> found = found_limits(traffic, rule.name.id);
  const AutoLimit& bounds = *rule.source.auto_limit;
  std::optional<std::int64_t> least;
  std::optional<std::int64_t> most;
  for (const FoundLimit& each : found) {
    least = std::min(least.value_or(each.limit), each.limit);
    most = std::max(most.value_or(each.limit), each.limit);
  }
  std::string text = !most             ? "no limit found yet"
                     : *least == *most ? std::to_string(*most) + " at a time"
                                       : std::to_string(*least) + " to " + std::to_string(*most) + " at a time";
  text += " (auto, " + std::to_string(bounds.min) + " to " + std::to_string(bounds.max) + ")";
  if (!rule.source.per.empty()) {
    text += ", per ";
    for (const std::string& each : rule.source.per) text += (&each == &rule.source.per.front() ? "" : ", ") + each;
  }
  out.member("summary", text);
  out.member("limit", least == most ? most : std::nullopt);
  out.begin_array("found");
  for (const FoundLimit& each : found) {
    out.begin_object();
    out.member("subject", each.subject);
    out.member("limit", each.limit);
    out.end_object();
  }
  out.end_array();
}

Answer show_report(const Traffic& traffic, const std::string& id) {
  const std::shared_ptr<const rules::RuleSet> set = traffic.rules.current();
  const auto rule =
      std::find_if(set->rules().begin(), set->rules().end(), [&](const auto& each) { return each.name.id == id; });
  if (rule == set->rules().end()) return not_found("rule", id);
  const bool adapts = rule->source.auto_limit.has_value();
  if (!rule->candidate && rule->mode != Mode::shadow && !adapts) {
    return problem(404, "no_candidate", "the rule " + id + " has no candidate and is not in shadow mode");
  }
  JsonWriter out;
  out.begin_object();
  out.member("rule", id);
  out.member("kind", rule->candidate ? "candidate" : rule->mode == Mode::shadow ? "shadow" : "adaptive");
  out.member("etag", etag_of(traffic, *set));
  if (rule->candidate) {
    write_candidate_report(out, traffic, *rule);
    write_subjects(out, traffic, rule->name.ordinal,
                   traffic.rollout(rule->name.ordinal, RolloutCounts::Kind::candidate));
  } else {
    if (adapts) {
      write_found_limits(out, traffic, *rule);
    } else {
      out.member("summary", summary_of(rule->source));
      out.member("limit", rule->source.unlimited ? std::nullopt : std::optional(rule->source.allowance.limit));
    }
    out.null_member("warming_until");
    const RolloutReport report = traffic.rollout(rule->name.ordinal, RolloutCounts::Kind::shadow);
    write_counts(out, report);
    write_subjects(out, traffic, rule->name.ordinal, report);
  }
  out.end_object();
  return json_answer(out.take(), etag_of(traffic, *set));
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
