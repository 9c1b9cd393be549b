// SubjectWatch: one log line for each rule that has come to its max_subjects, so that newcomers share a bucket.
//
// poll() from one thread. Borrows the log.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "observe/decision_counters.h"
#include "observe/log.h"
#include "rules/rule_book.h"

namespace weir::server {

class SubjectWatch {
 public:
  SubjectWatch(std::shared_ptr<rules::RuleBook> book, std::shared_ptr<const observe::RuleLabels> labels,
               observe::Log& log)
      : book_(std::move(book)), labels_(std::move(labels)), log_(log) {}

  // Looks at what the loops have counted. A rule is told of once for as long as it stays loaded; rules without a label
  // are told of as one.
  void poll(const std::vector<std::shared_ptr<observe::DecisionCounters>>& loops);

 private:
  const std::shared_ptr<rules::RuleBook> book_;
  const std::shared_ptr<const observe::RuleLabels> labels_;
  observe::Log& log_;
  std::set<std::uint32_t> told_;  // tenures (observe/rule_labels.h) of the present table
};

}  // namespace weir::server
