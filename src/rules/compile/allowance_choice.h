// AllowanceChoice: which allowance of a rule applies to a request: emergency override, override, plan, or the rule's
// own; within one level the first that applies.
//
// Overrides are filed under their most selective equality, so ten thousand overrides by tenant cost one look-up.
// Immutable after construction; choosing does not allocate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rules/compile/conditions.h"
#include "rules/compile/name_table.h"
#include "rules/compile/request_view.h"
#include "rules/compile/value_index.h"
#include "rules/compile/window_lengths.h"
#include "weir/allowance.h"
#include "weir/rule.h"
#include "weir/time.h"
#include "weir/use_mark.h"

namespace weir::rules {

class AllowanceChoice {
 public:
  // Precondition: check_rule(rule) found nothing. Refers to the marks of the rule's overrides.
  AllowanceChoice(const Rule& rule, NameTable& names);

  struct Chosen {
    enum class Source : std::uint8_t { rule, plan, override };
    const Allowance* allowance = nullptr;  // null: unlimited
    Source source = Source::rule;
    std::uint32_t index = 0;        // of the plan or override, as written
    bool unknown_plan = false;      // the request names a plan, and the rule has others
    std::optional<Mode> mode = {};  // of the override that applies, if it has one
    UseMark* use = nullptr;         // of the override that applies
  };
  Chosen choose(const RequestView& view, TimePoint now) const {
    if (simple_) [[likely]]
      return {own(), Chosen::Source::rule, 0};
    return choose_variant(view, now);
  }

  bool simple() const { return simple_; }
  const Allowance* own() const { return own_ ? &*own_ : nullptr; }
  // Of all allowances of the rule, its own first. `before`: WindowLengths::as_former() of the version before it.
  WindowLengths window_lengths(WindowLengths before) const;
  // Calls `use` with each of them.
  template <typename Use>
  void for_each(Use use) const {
    if (own_) use(*own_);
    for (const MaybeAllowance& plan : plans_) {
      if (plan) use(*plan);
    }
    for (const Exception& exception : exceptions_) {
      if (exception.allowance) use(*exception.allowance);
    }
  }

 private:
  using MaybeAllowance = std::optional<Allowance>;  // none: unlimited
  struct Exception {
    MaybeAllowance allowance;
    std::vector<CompiledCondition> when;
    TimePoint until = TimePoint::max();
    std::uint32_t rank = 0;   // lower wins; emergencies come before all others
    std::uint32_t index = 0;  // as written
    bool has_numbers = true;  // false: it changes only the mode
    std::optional<Mode> mode;
    UseMark* use = nullptr;
  };

  static MaybeAllowance variant(const Rule& rule, const AllowanceChange& change);
  static bool applies(const Exception& exception, const RequestView& view, TimePoint now);
  void add_plans(const Rule& rule, NameTable& names);
  void add_overrides(const Rule& rule, NameTable& names);
  Chosen choose_variant(const RequestView& view, TimePoint now) const;
  const Exception* best_exception(const RequestView& view, TimePoint now, bool with_numbers) const;
  Chosen choose_numbers(const Exception* exception, const RequestView& view) const;

  MaybeAllowance own_;
  bool simple_ = true;  // neither plans nor overrides
  std::vector<MaybeAllowance> plans_;
  ValueIndex plan_index_;
  NameId plan_name_ = kUnknownName;       // set if there are plans
  std::vector<Exception> exceptions_;     // by rank
  ValueIndex exception_index_;            // of those that have an equality
  std::vector<std::uint32_t> unindexed_;  // the others
};

}  // namespace weir::rules
