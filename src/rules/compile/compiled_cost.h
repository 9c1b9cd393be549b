// CompiledCost: a rule's cost model, ready to evaluate. Immutable; does not allocate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rules/compile/match_issues.h"
#include "rules/compile/name_table.h"
#include "rules/compile/request_view.h"
#include "rules/compile/value_index.h"
#include "weir/allowance.h"
#include "weir/rule.h"

namespace weir::rules {

// What a request costs whose cost cannot be read, under a rule that denies such requests. The limits of such a rule are
// smaller (check_on_bad_cost).
inline constexpr std::int64_t kDeniedCost = kMaxUnits;

class CompiledCost {
 public:
  CompiledCost(const CostModel& model, BadCostPolicy on_bad_cost, NameTable& names);

  // 0 to kMaxUnits. An attribute that is not a whole number in that range is an issue, and treated as
  // the policy says. A table takes the first value of the request that it lists.
  std::int64_t of(const RequestView& view, MatchIssues& issues) const {
    if (kind_ == CostModel::Kind::request) [[likely]]
      return of_request(view);
    return of_model(view, issues);
  }

  bool denies_bad_costs() const { return on_bad_cost_ == BadCostPolicy::deny; }
  bool is_the_requests() const { return kind_ == CostModel::Kind::request; }
  static std::int64_t of_request(const RequestView& view) {
    return std::clamp<std::int64_t>(view.request.cost.units, 0, kMaxUnits);
  }

 private:
  std::int64_t of_model(const RequestView& view, MatchIssues& issues) const;

  CostModel::Kind kind_;
  std::int64_t units_;
  BadCostPolicy on_bad_cost_;
  NameId name_ = kUnknownName;
  ValueIndex index_;
  std::vector<std::int64_t> table_;
};

}  // namespace weir::rules
