#include "rules/compile/shedding_classes.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "rules/compile/fault_list.h"
#include "rules/compile/field_checks.h"

namespace weir::rules {
namespace {

void check_capacity(const Shedding& shedding, RuleFaults& faults) {
  if (shedding.rate == 0 && shedding.in_flight == 0) {
    faults.add({"capacity"},
               "has neither rate nor in_flight, expected the capacity of this node, as in {rate: 5000/s}");
  }
  faults.check_number({"capacity", "rate"}, shedding.rate, 0, kMaxUnits);
  faults.check_number({"capacity", "in_flight"}, shedding.in_flight, 0, kMaxInFlight);
  if (shedding.rate > 0 && (shedding.rate_window < kMinWindow || shedding.rate_window > std::chrono::hours(1))) {
    faults.add({"capacity", "rate"}, "is for " + std::to_string(shedding.rate_window.count()) +
                                         " us, expected a number of requests for 1 ms to 1 h");
  }
}

void check_class(const Shedding& shedding, std::size_t i, RuleFaults& faults) {
  const SheddingClass& each = shedding.classes[i];
  const FieldPath path = {"classes", FieldStep(i)};
  const auto field = [&path](const char* name) {
    FieldPath to = path;
    to.emplace_back(name);
    return to;
  };
  if (!is_rule_id(each.name)) {
    faults.add(field("name"), "is " + in_quotes(each.name) + ", expected 1 to 64 of A-Z a-z 0-9 . _ -");
  }
  if (each.shed_at) faults.check_number(field("shed_at"), *each.shed_at, kLeastShedAt, kMostShedAt);
  check_conditions(field("match"), each.match, faults);
  const auto hides = [](const SheddingClass& earlier) { return earlier.match.empty(); };
  const auto first = shedding.classes.begin();
  if (std::any_of(first, first + static_cast<std::ptrdiff_t>(i), hides)) {
    faults.add(path, "is after a class without match, which has every request");
  }
}

std::int64_t ns_per_request(const Shedding& capacity) {
  return capacity.rate == 0 ? 0 : std::max<std::int64_t>(1, capacity.rate_window.count() * 1'000 / capacity.rate);
}

}  // namespace

std::vector<RuleFault> check_shedding(const Shedding& shedding) {
  RuleFaults faults;
  check_capacity(shedding, faults);
  if (shedding.classes.empty()) {
    faults.add({"classes"}, "has no class, expected at least one, as in {name: read, shed_at: 80%}");
  }
  if (shedding.classes.size() > kMaxSheddingClasses) {
    faults.add({"classes"}, "has " + std::to_string(shedding.classes.size()) + " classes, expected at most " +
                                std::to_string(kMaxSheddingClasses));
  }
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < shedding.classes.size(); ++i) {
    check_class(shedding, i, faults);
    if (!names.insert(shedding.classes[i].name).second) {
      faults.add({"classes", FieldStep(i), "name"},
                 "is " + in_quotes(shedding.classes[i].name) + ", which is the name of an earlier class too");
    }
  }
  faults.check_name({"fair_by"}, shedding.fair_by);
  if (shedding.trust_priority) check_conditions({"trust_priority"}, *shedding.trust_priority, faults);
  return std::move(faults).take();
}

SheddingClasses::SheddingClasses(Shedding shedding, NameTable& names)
    : source_(std::move(shedding)),
      request_ns_(ns_per_request(source_)),
      fair_by_(names.add(source_.fair_by)),
      priority_(names.add(kPriorityAttribute)) {
  for (const SheddingClass& each : source_.classes) classes_.push_back(compile(each.match, names));
  if (source_.trust_priority) trusted_ = compile(*source_.trust_priority, names);
}

SheddingClasses::Conditions SheddingClasses::compile(const std::vector<Condition>& conditions, NameTable& names) {
  Conditions compiled;
  for (const Condition& condition : conditions) {
    compiled.push_back(CompiledCondition::compile(condition, names.add(condition.attribute)).value());
  }
  return compiled;
}

bool SheddingClasses::hold(const Conditions& conditions, const RequestView& view) {
  for (const CompiledCondition& condition : conditions) {
    if (!condition.holds(view)) return false;
  }
  return true;
}

// A trusted request that names no class, or one that there is not, is like any other.
std::size_t SheddingClasses::class_of(const RequestView& view) const {
  const Attribute* const priority = source_.trust_priority ? view.first(priority_) : nullptr;
  if (priority != nullptr && hold(trusted_, view)) {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      if (source_.classes[i].name == priority->value) return i;
    }
  }
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (hold(classes_[i], view)) return i;
  }
  return classes_.size();
}

}  // namespace weir::rules
