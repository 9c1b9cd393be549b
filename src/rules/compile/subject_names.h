// SubjectNames: which attributes a request is counted by under a rule with alternatives (`per: [api_key|ip]`).
//
// A value on the stack; choosing does not allocate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "rules/compile/rule_check.h"
#include "rules/compile/rule_set.h"

namespace weir::rules {

class SubjectNames {
 public:
  // For each entry of the rule's `per` the first of its names that is among `carried`; false: some entry has none.
  // Precondition: the rule has alternatives.
  bool choose(const CompiledRule& rule, std::span<const NameId> carried) {
    size_ = 0;
    for (const std::vector<NameId>& names : rule.alternatives) {
      const auto is_carried = [&](NameId name) {
        return std::find(carried.begin(), carried.end(), name) != carried.end();
      };
      const auto first = std::find_if(names.begin(), names.end(), is_carried);
      if (first == names.end()) return false;
      names_[size_++] = *first;
    }
    return true;
  }

  bool contains(NameId name) const { return std::find(names_, names_ + size_, name) != names_ + size_; }
  // In the order of `per`.
  std::span<const NameId> names() const { return {names_, size_}; }

 private:
  NameId names_[kMaxPer] = {};
  std::size_t size_ = 0;
};

}  // namespace weir::rules
