#include "server/subject_watch.h"

namespace weir::server {

void SubjectWatch::poll(const std::vector<std::shared_ptr<observe::DecisionCounters>>& loops) {
  if (!book_->current()->has_max_subjects()) return;
  const std::shared_ptr<const observe::RuleLabels::Table> table = labels_->table();
  std::set<std::uint32_t> present;
  for (std::uint32_t row = 0; row <= observe::kOtherRule; ++row) {
    const std::uint32_t tenure = table->tenures[row];
    if (tenure == 0) continue;
    if (told_.contains(tenure)) {
      present.insert(tenure);
      continue;
    }
    observe::DecisionCounters::RuleCounts counts;
    for (const auto& loop : loops) loop->add_counts(row, tenure, counts);
    if (counts.shared == 0) continue;
    present.insert(tenure);
    log_.warn("rule_subjects_full", "the rule has reached max_subjects: new subjects share one bucket",
              {{"rule", table->ids[row]}});
  }
  told_ = std::move(present);
}

}  // namespace weir::server
