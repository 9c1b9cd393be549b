// Checks rules as described by weir/rule.h, wherever they come from. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/allowance.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir::rules {

inline constexpr std::size_t kMaxRules = 100'000;      // per rule set
inline constexpr std::size_t kMaxRuleId = 64;          // characters
inline constexpr std::size_t kMaxPer = 16;             // attributes of a subject
inline constexpr std::size_t kMaxPlans = 1'000;        // per rule
inline constexpr std::size_t kMaxOverrides = 100'000;  // per rule set
inline constexpr std::size_t kMaxCostEntries = 1'000;  // per rule
inline constexpr std::size_t kMaxReason = 256;         // bytes
inline constexpr std::size_t kMaxReplaces = 1'000;     // per rule

// One step of the way to a field: a name, or a place in a list.
struct FieldStep {
  std::string name;
  std::size_t index = 0;  // counts where name is empty

  FieldStep(std::string field) : name(std::move(field)) {}  // NOLINT: a path reads {"plans", "pro", "burst"}
  FieldStep(const char* field) : name(field) {}             // NOLINT: as above
  explicit FieldStep(std::size_t place) : index(place) {}
};
using FieldPath = std::vector<FieldStep>;

// "plans.pro.burst", "overrides[2].when.ip".
std::string to_string(const FieldPath& path);

struct RuleFault {
  FieldPath field;   // empty: the rule as a whole
  std::string what;  // "is 0, expected 1 to 1000000000000"
};

// Everything wrong with one rule, apart from what concerns its neighbours.
std::vector<RuleFault> check_rule(const Rule& rule);

// Whether one more attribute name can be told apart from others and shown to people.
bool is_attribute_name(std::string_view name);
bool is_rule_id(std::string_view id);

// The rule's numbers with a plan's or an override's in their place.
AllowanceSpec changed_spec(const Rule& rule, const AllowanceChange& change);
AllowanceSpec local_limit_spec(const LocalLimit& limit);
bool is_unlimited(const Rule& rule, const AllowanceChange& change);

// What is wrong with their number and that of their overrides, expressions and attributes, as "rules: has …".
std::vector<std::string> check_totals(const Rules& rules);

// What is wrong between rules, as "rule ID: field: what": descriptors used twice, replaces that lead nowhere.
std::vector<std::string> check_neighbours(const Rules& rules);

// Everything: check_rule of each rule as "rule ID: field: what", ids used twice, check_totals and check_neighbours.
Status check_rules(const Rules& rules);

}  // namespace weir::rules
