// SubjectChange: what an operator changes about one subject without the database, such as a reset of its buckets or a
// refund: the attributes, which rules, and how the audit trail describes it. Immutable; lives until it is answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/subject_routes.h"

namespace weir::admin {

class SubjectChange {
 public:
  // `only`: these rules; empty: every rule that the request matches.
  SubjectChange(std::vector<std::pair<std::string, std::string>> attributes, std::vector<std::string> only)
      : kept_(std::move(attributes)), names_(std::move(only)) {
    for (const std::string& each : names_) rules_.push_back(each);
    view_.rules = rules_;
  }
  SubjectChange(const SubjectChange&) = delete;
  SubjectChange& operator=(const SubjectChange&) = delete;

  // Refers to this.
  Request request(Cost cost = {}) const {
    Request made(kept_.attributes, cost);
    made.by_operator = &view_;
    return made;
  }

  // For the audit trail; `name` and `number` are a member of its own.
  std::string json(const Environment& environment, std::string_view name,
                   const std::optional<std::int64_t>& number) const;

 private:
  const KeptAttributes kept_;
  const std::vector<std::string> names_;
  std::vector<std::string_view> rules_;
  OperatorView view_;
};

// `rules` of a body; without it none, which means all.
std::vector<std::string> read_rules(Members& body);

}  // namespace weir::admin
