// RuleReader: one rule of a rules file. Used once, then thrown away; refers to the document and the fault list.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml_document.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/rule_check.h"
#include "rules/read/known_fields.h"
#include "rules/read/yaml_values.h"
#include "weir/rule.h"

namespace weir::rules {

class RuleReader {
 public:
  // `defaults` may be null. `path` is how faults name the rule: "rules[2]".
  RuleReader(std::string_view file, FaultList& faults, const base::YamlNode& node, const base::YamlNode* defaults,
             std::string path);

  // What could be read; faults are in the list.
  Rule read();
  // Reads into a rule that has its other fields from elsewhere; only the fields named may stand here. Does not check
  // the rule as a whole.
  void refine(Rule& rule, std::span<const std::string_view> allowed);
  // Checks the fields of `defaults` as if they stood in a rule.
  void read_defaults();

 private:
  // A field of the rule, or else of the defaults, or a part of one. Its path is put together only for a fault: most
  // rules have none, and there may be 100,000 of them.
  struct Field {
    static constexpr std::size_t kNamed = static_cast<std::size_t>(-1);
    const base::YamlNode* node = nullptr;
    std::string_view name = {};
    std::size_t index = kNamed;  // otherwise a place in a list, and the name does not count
    const Field* in = nullptr;   // what it is part of; null: the rule, or the defaults
    bool inherited = false;
    explicit operator bool() const { return node != nullptr; }
    Field part(const base::YamlNode* part, std::string_view part_name) const { return {part, part_name, kNamed, this}; }
    Field item(std::size_t i) const { return {&node->item(i), {}, i, this}; }
  };

  Field field(std::string_view name) const;
  std::string path_of(const Field& at) const;
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
  const base::YamlNode* locate(const FieldPath& path, bool inherited) const;

  const std::string_view file_;
  FaultList& faults_;
  const base::YamlNode& node_;
  const base::YamlNode* defaults_;
  const std::string path_;
  std::set<std::string, std::less<>> unreadable_;  // names of fields with a fault already
};

}  // namespace weir::rules
