// The values of a rule that are more than one scalar: read from a file and turned into YAML. Pure, apart from the error
// list of a FieldAt.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/read/field_at.h"
#include "rules/read/yaml_text.h"
#include "weir/rule.h"

namespace weir::rules {

// A word for each value of an enumeration.
template <typename T>
using Choice = std::pair<std::string_view, T>;

void fault_wrong_choice(const FieldAt& at, std::span<const std::string_view> names);

template <typename T, std::size_t N>
void read_choice(const FieldAt& at, const Choice<T> (&choices)[N], T& into) {
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; ++i) {
    names[i] = choices[i].first;
    if (at.node().is_scalar() && at.node().text() == names[i]) {
      into = choices[i].second;
      return;
    }
  }
  fault_wrong_choice(at, names);
}

template <typename T, std::size_t N>
YamlText write_choice(const Choice<T> (&choices)[N], T value) {
  for (const Choice<T>& choice : choices) {
    if (choice.second == value) return YamlText::word(choice.first);
  }
  return {};
}

void read_names(const FieldAt& at, std::string_view expected, std::vector<std::string>& names);
YamlText write_names(const std::vector<std::string>& names);

// A map of attributes and values, or a list of such maps for conditions that share an attribute.
void read_conditions(const FieldAt& at, std::vector<Condition>& conditions);
YamlText write_conditions(const std::vector<Condition>& conditions);

void read_descriptor(const FieldAt& at, std::vector<DescriptorEntry>& descriptor);
YamlText write_descriptor(const std::vector<DescriptorEntry>& descriptor);

// An algorithm, or another kind of rule.
void read_algorithm(const FieldAt& at, Rule& rule);

// A number or the word `unlimited`. What cannot be read leaves both as they are.
void read_limit(const FieldAt& at, std::int64_t& limit, bool& unlimited);

void read_cost(const FieldAt& at, CostModel& cost);
std::optional<YamlText> write_cost(const CostModel& cost);

void read_plans(const FieldAt& at, std::vector<Plan>& plans);
YamlText write_plans(const std::vector<Plan>& plans);

void read_overrides(const FieldAt& at, std::vector<Override>& overrides);
YamlText write_overrides(const std::vector<Override>& overrides);

void read_blocks(const FieldAt& at, std::vector<Block>& blocks);
YamlText write_blocks(const std::vector<Block>& blocks);

// One of the policies alone, or a map.
inline constexpr Choice<FailurePolicy> kFailurePolicies[] = {{"allow", FailurePolicy::allow},
                                                             {"deny", FailurePolicy::deny},
                                                             {"local", FailurePolicy::local},
                                                             {"degrade", FailurePolicy::degrade},
                                                             {"static", FailurePolicy::static_limit}};
void read_store_failure(const FieldAt& at, std::optional<OnStoreFailure>& failure);
YamlText write_store_failure(const OnStoreFailure& failure);

void read_local_limit(const FieldAt& at, std::optional<LocalLimit>& limit);
YamlText write_local_limit(const LocalLimit& limit);

void read_estimate(const FieldAt& at, std::optional<Estimate>& estimate);
YamlText write_estimate(const Estimate& estimate);

}  // namespace weir::rules
