#include "observe/history_sampler.h"

#include <utility>

namespace weir::observe {
namespace {

std::uint64_t& total(History::Sample& sample, Total which) { return sample.totals[static_cast<std::size_t>(which)]; }

RuleTotal rule_total_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::allowed:
    case Outcome::failed_open:
      return RuleTotal::passed;
    case Outcome::shadow_denied:
      return RuleTotal::shadow_denied;
    case Outcome::denied:
    case Outcome::too_large:
    case Outcome::failed_closed:
      break;
  }
  return RuleTotal::denied;
}

}  // namespace

HistorySampler::HistorySampler(std::vector<const DecisionCounters*> loops, std::shared_ptr<const RuleLabels> labels,
                               History& history, std::function<base::LatencySums()> latency)
    : loops_(std::move(loops)), labels_(std::move(labels)), history_(history), latency_(std::move(latency)) {}

void HistorySampler::sample(TimePoint now) {
  History::Sample sample;
  sample.at = now;
  add_decisions(sample);
  add_rules(sample);
  if (latency_) sample.latency = latency_();
  history_.add(sample);
}

// Ad-hoc charges count as well: clients that use only CL.THROTTLE make no other decisions.
void HistorySampler::add_decisions(History::Sample& into) const {
  for (const DecisionCounters* loop : loops_) {
    for (int r = 0; r < kReasonCount; ++r) {
      const auto reason = static_cast<Reason>(r);
      total(into, Total::allowed) += loop->decisions(reason, true);
      const std::uint64_t refused = loop->decisions(reason, false);
      total(into, reason == Reason::shed ? Total::shed : Total::denied) += refused;
      if (reason == Reason::blocked) total(into, Total::blocked) += refused;
    }
    total(into, Total::degraded) += loop->degraded();
    const ChargeCounters& charges = loop->charges();
    const auto add_space = [&](std::size_t row) {
      total(into, Total::allowed) += charges.charges(row, ChargeResult::allowed);
      total(into, Total::denied) += charges.charges(row, ChargeResult::denied);
      total(into, Total::denied) += charges.charges(row, ChargeResult::too_large);
    };
    for (std::size_t row = 0; row < charges.rows_used(); ++row) add_space(row);
    add_space(ChargeCounters::kOtherSpace);
  }
}

void HistorySampler::add_rules(History::Sample& into) const {
  const std::shared_ptr<const RuleLabels::Table> table = labels_->table();
  for (std::uint32_t row = 0; row <= kOtherRule; ++row) {
    if (table->tenures[row] == 0) continue;
    DecisionCounters::RuleCounts counted;
    for (const DecisionCounters* loop : loops_) loop->add_counts(row, table->tenures[row], counted);
    History::RuleCounts counts{.rule = table->ids[row]};
    std::uint64_t any = 0;
    for (const auto& outcomes : counted.checks) {
      for (std::size_t o = 0; o < kOutcomeCount; ++o) {
        counts.counts[static_cast<std::size_t>(rule_total_of(static_cast<Outcome>(o)))] += outcomes[o];
        any += outcomes[o];
      }
    }
    total(into, Total::shadow_denied) += counts.counts[static_cast<std::size_t>(RuleTotal::shadow_denied)];
    if (any > 0 && row != kOtherRule) into.rules.push_back(counts);
  }
}

}  // namespace weir::observe
