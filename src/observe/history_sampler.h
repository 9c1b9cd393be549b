// HistorySampler: reads the counters of all loops and adds what they show to a History.
//
// sample() from one thread at a time, about once a second. Borrows the counters and the history.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "observe/decision_counters.h"
#include "observe/history.h"
#include "observe/rule_labels.h"

namespace weir::observe {

class HistorySampler {
 public:
  // `latency` is how long answers took, of all front ends together; may be empty.
  HistorySampler(std::vector<const DecisionCounters*> loops, std::shared_ptr<const RuleLabels> labels, History& history,
                 std::function<base::LatencySums()> latency = {});

  void sample(TimePoint now);

 private:
  void add_decisions(History::Sample& into) const;
  void add_rules(History::Sample& into) const;

  const std::vector<const DecisionCounters*> loops_;
  const std::shared_ptr<const RuleLabels> labels_;
  History& history_;
  const std::function<base::LatencySums()> latency_;
};

}  // namespace weir::observe
