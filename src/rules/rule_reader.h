// RuleReader: one rule of a rules file. Used once, then thrown away; refers to the document and the fault list.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/fault_list.h"
#include "rules/known_fields.h"
#include "rules/rule_check.h"
#include "rules/yaml_document.h"
#include "rules/yaml_values.h"
#include "weir/rule.h"

namespace weir::rules {

class RuleReader {
 public:
  // `defaults` may be null. `path` is how faults name the rule: "rules[2]".
  RuleReader(std::string_view file, FaultList& faults, const YamlNode& node, const YamlNode* defaults,
             std::string path);

  // What could be read; faults are in the list.
  Rule read();
  // Reads into a rule that has its other fields from elsewhere; only the fields named may stand here. Does not check
  // the rule as a whole.
  void refine(Rule& rule, std::span<const std::string_view> allowed);
  // Checks the fields of `defaults` as if they stood in a rule.
  void read_defaults();

 private:
  // A field of the rule, or else of the defaults.
  struct Field {
    const YamlNode* node = nullptr;
    std::string path;
    bool inherited = false;
    explicit operator bool() const { return node != nullptr; }
  };

  Field field(std::string_view name) const;
  void fault(const Field& at, std::string_view what);
  // Reads into `into` if the field is there; a failure is a fault, and the field counts as unreadable.
  template <typename T, typename Read>
  void take(std::string_view name, T& into, Read reader);
  template <typename T>
  void take_number(std::string_view name, T& into, std::int64_t least, std::int64_t most);
  template <typename T, std::size_t N>
  void take_choice(std::string_view name, T& into, const std::pair<std::string_view, T> (&choices)[N]);

  void read_fields(Rule& rule);
  void read_algorithm(Rule& rule);
  void read_allowance(Rule& rule);
  void read_names(const Field& at, std::vector<std::string>& names, std::string_view expected);
  void read_descriptor(const Field& at, std::vector<DescriptorEntry>& descriptor);
  void read_cost(const Field& at, CostModel& cost);
  void read_local_limit(const Field& at, std::optional<LocalLimit>& limit);
  void read_plans(const Field& at, std::vector<Plan>& plans);
  void read_overrides(const Field& at, std::vector<Override>& overrides);
  Override read_override(const Field& at);
  void read_change(const Field& at, AllowanceChange& change);
  std::vector<Condition> read_conditions(const Field& at);
  std::optional<std::string> text_of(const Field& at);

  void check(const Rule& rule);
  bool follows_from_unreadable(const FieldPath& path) const;
  Field locate(const FieldPath& path) const;

  const std::string_view file_;
  FaultList& faults_;
  const YamlNode& node_;
  const YamlNode* defaults_;
  const std::string path_;
  std::set<std::string, std::less<>> unreadable_;  // names of fields with a fault already
};

}  // namespace weir::rules
