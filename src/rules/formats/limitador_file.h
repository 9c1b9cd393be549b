// LimitadorReader: limits files of Limitador as rules of ours.
//
//   namespace                 match: {domain: …}: what Envoy sends as its domain
//   conditions, all of them   match: {NAME: VALUE}; only comparisons with == can be expressed
//   variables                 per
//   max_value, seconds        limit and window of a fixed window
//   name or id                id, where it can be one
//
// Used by one thread: add() each file, then finish().
#pragma once

#include <string>
#include <vector>

#include "base/yaml_document.h"
#include "rules/compile/fault_list.h"
#include "rules/read/rule_ids.h"
#include "rules/read/rules_format.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir::rules {

class LimitadorReader {
 public:
  void add(const base::YamlDocument& document, FaultList& faults);
  // `name` is what faults of the whole are reported under.
  Result<ForeignRules> finish(const std::string& name, FaultList& faults) &&;

 private:
  friend class LimitadorFile;

  Rules rules_;
  RuleIds ids_;  // one proposal for each rule
};

}  // namespace weir::rules
