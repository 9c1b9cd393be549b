// RuleReader: one rule of a rules file, by the table of rule_fields.h. Used once; refers to the document and the error
// list.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/yaml_document.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/rule_check.h"
#include "rules/read/field_at.h"
#include "weir/rule.h"

namespace weir::rules {

class RuleReader {
 public:
  // `defaults` may be null. `path` is how errors name the rule: "rules[2]".
  RuleReader(std::string_view file, FaultList& faults, const base::YamlNode& node, const base::YamlNode* defaults,
             std::string path);

  // What could be read; errors are in the list.
  Rule read();
  // Reads into a rule that has its other fields from elsewhere. Only the fields named are allowed. Does not check the
  // rule as a whole.
  void refine(Rule& rule, std::span<const std::string_view> allowed);
  // Checks the fields of `defaults` as if they were in a rule.
  void read_defaults();

 private:
  void read_fields(Rule& rule);
  void require(std::string_view name, std::string_view expected);
  void check(const Rule& rule);
  bool follows_from_unreadable(const FieldPath& path) const;
  bool has(std::string_view name) const;

  FieldScope scope_;
  const base::YamlNode& node_;
  const base::YamlNode* defaults_;
};

// The node that the path leads to from `from`, or the last one on the way that exists.
const base::YamlNode& locate(const base::YamlNode& from, const FieldPath& path);

}  // namespace weir::rules
