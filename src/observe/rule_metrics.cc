#include "observe/rule_metrics.h"

#include <array>
#include <limits>

#include "observe/metric_text.h"

namespace weir::observe {
namespace {

using prometheus::MetricType;

// The samples of one rule have the same first label.
class RuleLabel {
 public:
  void begin(std::string_view rule) {
    text_.clear();
    append_label(text_, "rule", rule);
    rule_ = text_.size();
  }
  const std::string& alone() {
    text_.resize(rule_);
    return text_;
  }
  const std::string& with(std::string_view name, std::string_view value) {
    text_.resize(rule_);
    append_label(text_, name, value);
    return text_;
  }
  const std::string& with(std::string_view name, std::string_view value, std::string_view second,
                          std::string_view second_value) {
    with(name, value);
    append_label(text_, second, second_value);
    return text_;
  }

 private:
  std::string text_;
  std::size_t rule_ = 0;
};

// Those of the rule's own algorithm from the start with 0, so that the first ones are an increase.
void add_checks(const DecisionCounters::RuleCounts& counts, RuleLabel& label, std::string_view own,
                MetricLines& checks) {
  for (std::size_t a = 0; a < kAlgorithmRows; ++a) {
    const std::string_view algorithm = algorithm_row_name(a);
    for (std::size_t o = 0; o < kOutcomeCount; ++o) {
      const std::uint64_t count = counts.checks[a][o];
      if (count == 0 && algorithm != own) continue;
      checks.add(label.with("algorithm", algorithm, "outcome", outcome_name(static_cast<Outcome>(o))), count);
    }
  }
}

void add_denials(const DecisionCounters::RuleCounts& counts, RuleLabel& label, const RuleLabels::Table& table,
                 std::uint32_t row, MetricLines& denials) {
  for (int r = 0; r < kReasonCount; ++r) {
    for (const bool shared : {false, true}) {
      const std::uint64_t count = counts.denials[static_cast<std::size_t>(r)][shared ? 1 : 0];
      const bool from_start = !shared && (table.reasons[row] >> static_cast<unsigned>(r) & 1U) != 0;
      if (count == 0 && !from_start) continue;
      denials.add(label.with("reason", reason_name(static_cast<Reason>(r)), "subject",
                             shared ? std::string_view("shared") : std::string_view(table.subjects[row])),
                  count);
    }
  }
}

}  // namespace

void write_rule_counts(std::string& out, const std::vector<const DecisionCounters*>& loops,
                       const RuleLabels::Table& table) {
  MetricLines checks("weir_checks_total");
  MetricLines near("weir_near_limit_total");
  MetricLines shared("weir_shared_subject_checks_total");
  MetricLines denials("weir_denials_total");
  RuleLabel label;
  for (std::uint32_t row = 0; row <= kOtherRule; ++row) {
    if (table.tenures[row] == 0) continue;
    DecisionCounters::RuleCounts counts;
    for (const DecisionCounters* loop : loops) loop->add_counts(row, table.tenures[row], counts);
    label.begin(table.ids[row]);
    add_checks(counts, label, table.algorithms[row], checks);
    add_denials(counts, label, table, row, denials);
    near.add(label.alone(), counts.near_limit);
    if (counts.shared > 0 || table.shares[row]) shared.add(label.alone(), counts.shared);
  }
  append_family(out, MetricType::Counter,
                "What each rule said to the checks that it applied to. A check that another rule denied counts as "
                "allowed here if this rule would have allowed it.",
                checks);
  append_family(out, MetricType::Counter, "Allowed checks that left less than a fifth of the rule's limit.", near);
  append_family(out, MetricType::Counter,
                "Checks that were counted in the bucket that newcomers beyond max_subjects share.", shared);
  append_family(out, MetricType::Counter,
                "Denied requests, by the rule that is reported, the reason, and what the rule counts by; `shared`: the "
                "bucket of newcomers beyond max_subjects.",
                denials);
}

void write_rule_subjects(std::string& out, const std::vector<RuleSubjects>& subjects, const RuleLabels::Table& table) {
  std::array<std::int64_t, kMaxRuleLabels + 1> sums{};
  std::array<bool, kMaxRuleLabels + 1> known{};
  for (const RuleSubjects& each : subjects) {
    const std::uint32_t row = table.row(each.ordinal);
    sums[row] += each.count;
    known[row] = true;
  }
  MetricLines lines("weir_rule_subjects");
  RuleLabel label;
  for (std::uint32_t row = 0; row <= kOtherRule; ++row) {
    if (!known[row]) continue;
    label.begin(table.ids[row]);
    lines.add_fraction(label.alone(), static_cast<double>(sums[row]));
  }
  append_family(out, MetricType::Gauge, "Subjects of the rule that have a bucket; with Redis an estimate.", lines);
}

void write_rule_remaining(std::string& out, const std::vector<RuleRemaining>& rules) {
  std::array<std::string, kRemainingBounds.size() + 1> bounds;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    append_metric_number(bounds[i],
                         i < kRemainingBounds.size() ? kRemainingBounds[i] : std::numeric_limits<double>::infinity());
  }
  MetricLines lines("weir_rule_remaining_ratio");
  RuleLabel label;
  for (const RuleRemaining& each : rules) {
    std::uint64_t count = 0;
    double sum = 0;
    label.begin(each.rule);
    for (std::size_t i = 0; i < each.counts.size(); ++i) {
      count += each.counts[i];
      sum += static_cast<double>(each.counts[i]) * (i < kRemainingBounds.size() ? kRemainingBounds[i] : 1.0);
      lines.add(label.with("le", bounds[i]), count, "_bucket");
    }
    lines.add_fraction(label.alone(), sum, "_sum");
    lines.add(label.alone(), count, "_count");
  }
  append_family(out, MetricType::Histogram, {}, lines);
}

}  // namespace weir::observe
