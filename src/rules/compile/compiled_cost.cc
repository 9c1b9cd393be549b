#include "rules/compile/compiled_cost.h"

#include <charconv>

namespace weir::rules {

CompiledCost::CompiledCost(const CostModel& model, BadCostPolicy on_bad_cost, NameTable& names)
    : kind_(model.kind), units_(model.units), on_bad_cost_(on_bad_cost) {
  if (kind_ == CostModel::Kind::attribute || kind_ == CostModel::Kind::table) name_ = names.add(model.attribute);
  if (kind_ != CostModel::Kind::table) return;
  std::vector<ValueIndex::Filing> filings;
  for (const auto& [value, units] : model.table) {
    filings.push_back({name_, value, static_cast<std::uint32_t>(table_.size())});
    table_.push_back(units);
  }
  index_ = ValueIndex(std::move(filings));
}

std::int64_t CompiledCost::of_model(const RequestView& view, MatchIssues& issues) const {
  if (kind_ == CostModel::Kind::fixed) return units_;
  if (kind_ == CostModel::Kind::table) {
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (view.ids[i] != name_ || !index_.may_mention(name_)) continue;
      const auto found = index_.find(name_, view.value(i));
      if (!found.empty()) return table_[found[0]];
    }
    return units_;
  }
  const Attribute* attribute = view.first(name_);
  if (attribute == nullptr) return of_request(view);
  const std::string_view text = attribute->value;
  std::int64_t units = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), units);
  const bool whole = error == std::errc() && end == text.data() + text.size() && text.front() != '-';
  if (whole && units <= kMaxUnits) return units;
  issues.add(MatchIssue::bad_cost);
  return on_bad_cost_ == BadCostPolicy::deny ? kDeniedCost : of_request(view);
}

}  // namespace weir::rules
