#include "observe/rule_labels.h"

#include <algorithm>
#include <utility>

namespace weir::observe {

void RuleLabels::update(std::span<const LabelledRule> loaded) {
  const std::shared_ptr<const Table> before = table();
  auto made = std::make_shared<Table>();
  std::uint32_t largest = 0;
  for (const LabelledRule& rule : loaded) largest = std::max(largest, rule.ordinal);
  made->rows.assign(loaded.empty() ? 0 : largest + 1, static_cast<std::uint16_t>(kOtherRule));
  const auto give = [&](const LabelledRule& rule, std::uint32_t row, std::uint32_t tenure) {
    made->rows[rule.ordinal] = static_cast<std::uint16_t>(row);
    made->tenures[row] = tenure;
    made->ids[row] = rule.id;
    made->subjects[row] = rule.subject;
    made->algorithms[row] = rule.algorithm;
    made->reasons[row] = rule.reasons;
    made->shares[row] = rule.shares;
  };
  // First those that have a label, so that none of them loses its row to a newcomer.
  for (const LabelledRule& rule : loaded) {
    const std::uint32_t row = before->row(rule.ordinal);
    if (row != kOtherRule) give(rule, row, before->tenures[row]);
  }
  std::uint32_t free = 0;
  for (const LabelledRule& rule : loaded) {
    if (made->rows[rule.ordinal] != kOtherRule) continue;
    while (free < kMaxRuleLabels && made->tenures[free] != 0) ++free;
    if (free == kMaxRuleLabels) {
      ++made->without_label;
    } else {
      give(rule, free, ++last_tenure_);
    }
  }
  const std::lock_guard lock(mutex_);
  table_ = std::move(made);
  version_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const RuleLabels::Table> RuleLabels::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

}  // namespace weir::observe
