#include "rules/compile/allowance_choice.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "rules/compile/rule_check.h"
#include "rules/compile/selectivity.h"

namespace weir::rules {

AllowanceChoice::AllowanceChoice(const Rule& rule, NameTable& names) : own_(variant(rule, {})) {
  add_plans(rule, names);
  add_overrides(rule, names);
  simple_ = plans_.empty() && exceptions_.empty();
}

AllowanceChoice::MaybeAllowance AllowanceChoice::variant(const Rule& rule, const AllowanceChange& change) {
  if (is_unlimited(rule, change)) return std::nullopt;
  const Result<Allowance> allowance = changed_allowance(rule, change);
  assert(allowance.ok());
  return allowance.value();
}

void AllowanceChoice::add_plans(const Rule& rule, NameTable& names) {
  if (rule.plans.empty()) return;
  plan_name_ = names.add("plan");
  std::vector<ValueIndex::Filing> filings;
  for (const Plan& plan : rule.plans) {
    filings.push_back({plan_name_, plan.name, static_cast<std::uint32_t>(plans_.size())});
    plans_.push_back(variant(rule, plan.change));
  }
  plan_index_ = ValueIndex(std::move(filings));
}

void AllowanceChoice::add_overrides(const Rule& rule, NameTable& names) {
  std::vector<std::uint32_t> order(rule.overrides.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(), [&](std::uint32_t i) { return rule.overrides[i].emergency; });

  Selectivity selectivity;
  for (const Override& override : rule.overrides) selectivity.count(override.when);
  std::vector<ValueIndex::Filing> filings;
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) {
    const Override& override = rule.overrides[order[rank]];
    const Condition* filed = selectivity.best(override.when);
    Exception exception;
    exception.allowance = variant(rule, override.change);
    exception.has_numbers = override.change != AllowanceChange();
    exception.mode = override.mode;
    exception.use = override.use.get();
    exception.until = override.until.value_or(TimePoint::max());
    exception.rank = rank;
    exception.index = order[rank];
    for (const Condition& condition : override.when) {
      const NameId name = names.add(condition.attribute);
      if (&condition == filed) {
        for (const std::string& value : condition.patterns) filings.push_back({name, value, rank});
      } else {
        exception.when.push_back(CompiledCondition::compile(condition, name).value());
      }
    }
    if (filed == nullptr) unindexed_.push_back(rank);
    exceptions_.push_back(std::move(exception));
  }
  exception_index_ = ValueIndex(std::move(filings));
}

WindowLengths AllowanceChoice::window_lengths(WindowLengths before) const {
  WindowLengths lengths = std::move(before);
  for_each([&lengths](const Allowance& allowance) { lengths.add(allowance); });
  lengths.settle([this](auto use) { for_each(use); });
  return simple_ && !lengths.several() ? WindowLengths() : lengths;
}

bool AllowanceChoice::applies(const Exception& exception, const RequestView& view, TimePoint now) {
  return now < exception.until && std::all_of(exception.when.begin(), exception.when.end(),
                                              [&](const CompiledCondition& when) { return when.holds(view); });
}

const AllowanceChoice::Exception* AllowanceChoice::best_exception(const RequestView& view, TimePoint now,
                                                                  bool with_numbers) const {
  auto best = static_cast<std::uint32_t>(exceptions_.size());
  // Ranks ascend in every list, so the first that applies ends it.
  const auto look = [&](std::span<const std::uint32_t> ranks) {
    for (const std::uint32_t rank : ranks) {
      if (rank >= best) return;
      if (with_numbers && !exceptions_[rank].has_numbers) continue;
      if (applies(exceptions_[rank], view, now)) best = rank;
    }
  };
  look(unindexed_);
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (exception_index_.may_mention(view.ids[i])) look(exception_index_.find(view.ids[i], view.value(i)));
  }
  return best < exceptions_.size() ? &exceptions_[best] : nullptr;
}

// The first override that applies says everything that it says. If it says only a mode, the numbers are what they would
// be without it.
AllowanceChoice::Chosen AllowanceChoice::choose_variant(const RequestView& view, TimePoint now) const {
  if (exceptions_.empty()) return choose_numbers(nullptr, view);
  const Exception* const first = best_exception(view, now, false);
  if (first == nullptr || first->has_numbers) return choose_numbers(first, view);
  Chosen chosen = choose_numbers(best_exception(view, now, true), view);
  chosen.mode = first->mode;
  chosen.use = first->use;
  return chosen;
}

AllowanceChoice::Chosen AllowanceChoice::choose_numbers(const Exception* exception, const RequestView& view) const {
  const auto pointer = [](const MaybeAllowance& allowance) { return allowance ? &*allowance : nullptr; };
  if (exception != nullptr) {
    return {pointer(exception->allowance),
            Chosen::Source::override,
            exception->index,
            false,
            exception->mode,
            exception->use};
  }
  bool has_plan = false;
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (plans_.empty() || view.ids[i] != plan_name_) continue;
    has_plan = true;
    const auto found = plan_index_.find(view.ids[i], view.value(i));
    if (!found.empty()) return {pointer(plans_[found[0]]), Chosen::Source::plan, found[0]};
  }
  return {pointer(own_), Chosen::Source::rule, 0, has_plan};
}

}  // namespace weir::rules
