#include "observe/rule_metrics.h"

#include <algorithm>
#include <array>
#include <limits>

#include "observe/metric_text.h"

namespace weir::observe {
namespace {

using prometheus::MetricType;

// The label that all samples of one rule begin with.
std::string_view rule_label(std::string& room, std::string_view rule) {
  room.clear();
  append_label(room, "rule", rule);
  return room;
}

// What was counted of each rule that has a label.
struct CountedRule {
  std::uint32_t row = 0;
  std::string label;
  DecisionCounters::RuleCounts counts;
};

std::vector<CountedRule> counted_rules(const std::vector<const DecisionCounters*>& loops,
                                       const RuleLabels::Table& table) {
  std::vector<CountedRule> rules;
  rules.reserve(table.rows.size() + 1);
  for (std::uint32_t row = 0; row <= kOtherRule; ++row) {
    if (table.tenures[row] == 0) continue;
    CountedRule& rule = rules.emplace_back();
    rule.row = row;
    rule_label(rule.label, table.ids[row]);
    for (const DecisionCounters* loop : loops) loop->add_counts(row, table.tenures[row], rule.counts);
  }
  return rules;
}

// Those of the rule's own algorithm from the start with 0, so that the first ones are an increase.
void add_checks(const CountedRule& rule, std::string_view own, std::string& labels, MetricLines& checks) {
  for (std::size_t a = 0; a < kAlgorithmRows; ++a) {
    const std::array<std::uint64_t, kOutcomeCount>& outcomes = rule.counts.checks[a];
    const bool is_own = algorithm_row_name(a) == own;
    if (!is_own && std::all_of(outcomes.begin(), outcomes.end(), [](std::uint64_t count) { return count == 0; }))
      continue;
    labels = rule.label;
    append_label(labels, "algorithm", algorithm_row_name(a));
    checks.begin(labels, "outcome");
    for (std::size_t o = 0; o < kOutcomeCount; ++o) {
      if (outcomes[o] > 0 || is_own) checks.end(outcome_name(static_cast<Outcome>(o)), outcomes[o]);
    }
  }
}

void add_denials(const CountedRule& rule, const RuleLabels::Table& table, std::string& subject, MetricLines& denials) {
  subject.clear();
  append_label(subject, "subject", table.subjects[rule.row]);
  subject.insert(0, 1, ',');
  denials.begin(rule.label, "reason");
  for (int r = 0; r < kReasonCount; ++r) {
    for (const bool shared : {false, true}) {
      const std::uint64_t count = rule.counts.denials[static_cast<std::size_t>(r)][shared ? 1 : 0];
      const bool from_start = !shared && (table.reasons[rule.row] >> static_cast<unsigned>(r) & 1U) != 0;
      if (count == 0 && !from_start) continue;
      denials.end(reason_name(static_cast<Reason>(r)), shared ? ",subject=\"shared\"" : std::string_view(subject),
                  count);
    }
  }
}

}  // namespace

void write_rule_counts(std::string& out, const std::vector<const DecisionCounters*>& loops,
                       const RuleLabels::Table& table) {
  const std::vector<CountedRule> rules = counted_rules(loops, table);
  std::string room;
  MetricLines checks(out, MetricType::Counter, "weir_checks_total",
                     "Results of each rule for the checks that it applied to. A check that only another rule denied "
                     "counts as allowed here.");
  for (const CountedRule& rule : rules) add_checks(rule, table.algorithms[rule.row], room, checks);
  MetricLines near(out, MetricType::Counter, "weir_near_limit_total",
                   "Allowed checks that left less than a fifth of the rule's limit.");
  for (const CountedRule& rule : rules) near.add(rule.label, rule.counts.near_limit);
  MetricLines shared(out, MetricType::Counter, "weir_shared_subject_checks_total",
                     "Checks that were counted in the bucket that new subjects beyond max_subjects share.");
  for (const CountedRule& rule : rules) {
    if (rule.counts.shared > 0 || table.shares[rule.row]) shared.add(rule.label, rule.counts.shared);
  }
  MetricLines denials(out, MetricType::Counter, "weir_denials_total",
                      "Denied requests, by the rule that is reported, the reason, and what the rule counts by; "
                      "`shared`: the bucket that new subjects beyond max_subjects share.");
  for (const CountedRule& rule : rules) add_denials(rule, table, room, denials);
}

void write_rule_subjects(std::string& out, const std::vector<RuleSubjects>& subjects, const RuleLabels::Table& table) {
  std::array<std::int64_t, kMaxRuleLabels + 1> sums{};
  std::array<bool, kMaxRuleLabels + 1> known{};
  for (const RuleSubjects& each : subjects) {
    const std::uint32_t row = table.row(each.ordinal);
    sums[row] += each.count;
    known[row] = true;
  }
  MetricLines lines(out, MetricType::Gauge, "weir_rule_subjects",
                    "Subjects of the rule that have a bucket; with Redis an estimate.");
  std::string room;
  for (std::uint32_t row = 0; row <= kOtherRule; ++row) {
    if (!known[row]) continue;
    lines.add_fraction(rule_label(room, table.ids[row]), static_cast<double>(sums[row]));
  }
}

void write_rule_remaining(std::string& out, const std::vector<RuleRemaining>& rules) {
  std::array<std::string, kRemainingBounds.size() + 1> bounds;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    append_metric_number(bounds[i],
                         i < kRemainingBounds.size() ? kRemainingBounds[i] : std::numeric_limits<double>::infinity());
  }
  MetricLines lines(out, MetricType::Histogram, "weir_rule_remaining_ratio", {});
  std::string room;
  for (const RuleRemaining& each : rules) {
    std::uint64_t count = 0;
    double sum = 0;
    const std::string_view label = rule_label(room, each.rule);
    lines.begin(label, "le", "_bucket");
    for (std::size_t i = 0; i < each.counts.size(); ++i) {
      count += each.counts[i];
      sum += static_cast<double>(each.counts[i]) * (i < kRemainingBounds.size() ? kRemainingBounds[i] : 1.0);
      lines.end(bounds[i], count);
    }
    lines.add_fraction(label, sum, "_sum");
    lines.add(label, count, "_count");
  }
}

}  // namespace weir::observe
