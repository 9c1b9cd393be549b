// Checks rules as described by weir/rule.h, wherever they come from. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/allowance.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

inline constexpr std::size_t kMaxRules = 100'000;      // per rule set
inline constexpr std::size_t kMaxRuleId = 64;          // characters
inline constexpr std::size_t kMaxPer = 16;             // attributes of a subject
inline constexpr std::size_t kMaxPlans = 1'000;        // per rule
inline constexpr std::size_t kMaxOverrides = 100'000;  // per rule set
inline constexpr std::size_t kMaxCostEntries = 1'000;  // per rule
inline constexpr std::size_t kMaxReason = 256;         // bytes
inline constexpr std::size_t kMaxMessage = 512;        // bytes
inline constexpr std::size_t kMaxReplaces = 1'000;     // per rule
inline constexpr Duration kMinPolicyTerm = std::chrono::seconds(1);
inline constexpr Duration kMaxPolicyTerm = std::chrono::hours(24 * 365);

// One step of the path to a field: a name, or a position in a list.
struct FieldStep {
  std::string name;
  std::size_t index = 0;  // used when name is empty

  FieldStep(std::string field) : name(std::move(field)) {}  // NOLINT: a path reads {"plans", "pro", "burst"}
  FieldStep(const char* field) : name(field) {}             // NOLINT: as above
  explicit FieldStep(std::size_t position) : index(position) {}
};
using FieldPath = std::vector<FieldStep>;

// "plans.pro.burst", "overrides[2].when.ip".
std::string to_string(const FieldPath& path);

struct RuleFault {
  FieldPath field;   // empty: the rule as a whole
  std::string what;  // "is 0, expected 1 to 1000000000000"
};

// Collects the errors of one rule. Used by one thread.
class RuleFaults {
 public:
  void add(FieldPath field, std::string what) { faults_.push_back({std::move(field), std::move(what)}); }
  void check_number(FieldPath field, std::int64_t value, std::int64_t least, std::int64_t most);
  // The name of an attribute.
  void check_name(FieldPath field, const std::string& name);
  // A value that attributes are compared with.
  void check_value(FieldPath field, const std::string& value);
  // An error of the rule's own numbers is not repeated for each of its plans and overrides.
  void check_allowance(FieldPath field, const Result<Allowance>& allowance);

  std::vector<RuleFault> take() && { return std::move(faults_); }

 private:
  std::string own_fault_;
  std::vector<RuleFault> faults_;
};

// Everything wrong with one rule by itself: the checks of rules/read/rule_fields.h.
std::vector<RuleFault> check_rule(const Rule& rule);

// 1 to kMaxAttributeName bytes of valid UTF-8 without control characters.
bool is_attribute_name(std::string_view name);
bool is_rule_id(std::string_view id);

// The rule's numbers after a plan's or an override's change.
AllowanceSpec changed_spec(const Rule& rule, const AllowanceChange& change);
// The same, ready to compute with: an algorithm's, or a concurrency rule's. Precondition: not unlimited.
Result<Allowance> changed_allowance(const Rule& rule, const AllowanceChange& change);
AllowanceSpec local_limit_spec(const LocalLimit& limit);
bool is_unlimited(const Rule& rule, const AllowanceChange& change);

// The policy answers for the store at some time. Precondition: it is not the default.
bool may_answer(const Rule& rule, FailurePolicy policy);

// Too many rules, overrides, regular expressions or attributes, as "rules: has …".
std::vector<std::string> check_totals(const Rules& rules);

// Errors between rules, as "rule ID: field: what": descriptors used twice, `replaces` with unknown ids.
std::vector<std::string> check_neighbours(const Rules& rules);

// Everything: check_rule of each rule as "rule ID: field: what", ids used twice, check_totals and check_neighbours.
Status check_rules(const Rules& rules);

}  // namespace weir::rules
