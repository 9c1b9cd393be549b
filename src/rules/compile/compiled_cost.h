// CompiledCost: a rule's cost model, ready to evaluate. Immutable; does not allocate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rules/compile/name_table.h"
#include "rules/compile/request_view.h"
#include "rules/compile/value_index.h"
#include "weir/allowance.h"
#include "weir/rule.h"

namespace weir::rules {

class CompiledCost {
 public:
  CompiledCost(const CostModel& model, NameTable& names);

  // 0 to kMaxUnits, whatever the request says. An attribute that is not a whole number in that range is as if absent;
  // a table takes the first value of the request that it lists.
  std::int64_t of(const RequestView& view) const {
    if (kind_ == CostModel::Kind::request) [[likely]]
      return of_request(view);
    return of_model(view);
  }

  bool is_the_requests() const { return kind_ == CostModel::Kind::request; }
  static std::int64_t of_request(const RequestView& view) {
    return std::clamp<std::int64_t>(view.request.cost.units, 0, kMaxUnits);
  }

 private:
  std::int64_t of_model(const RequestView& view) const;

  CostModel::Kind kind_;
  std::int64_t units_;
  NameId name_ = kUnknownName;
  ValueIndex index_;
  std::vector<std::int64_t> table_;
};

}  // namespace weir::rules
