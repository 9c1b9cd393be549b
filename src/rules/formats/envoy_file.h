// EnvoyReader: rule files of envoyproxy/ratelimit as rules of ours. docs/migrate-from-envoy-ratelimit.md says what each
// field becomes; in short:
//
//   domain and the nested keys and values   descriptor, with the same walk (descriptor_tree.h)
//   requests_per_unit, unit                 limit and window of a fixed window, or of `weir: {algorithm: …}`
//   unlimited                               limit: unlimited
//   shadow_mode                             mode: shadow
//   name, replaces                          id, replaces
//   share_threshold                         the key is left out of `per`
//   a last entry without rate_limit         mode: off: it takes its requests away from the bare key beside it
//
// `per` names every key whose value is not fixed by the descriptor. Used by one thread: add() each file, then finish().
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/yaml_document.h"
#include "rules/compile/fault_list.h"
#include "rules/read/rule_ids.h"
#include "rules/read/rules_format.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir::rules {

class EnvoyReader {
 public:
  void add(const base::YamlDocument& document, FaultList& faults);
  // `name` is what faults of the whole are reported under.
  Result<ForeignRules> finish(const std::string& name, FaultList& faults) &&;

 private:
  friend class EnvoyFile;

  // A rule whose id is not known yet, and neither are those that it replaces.
  struct Draft {
    Rule rule;
    std::string name;
    std::vector<std::string> replaces;  // names
  };

  std::unordered_map<std::string, std::string> domains_;  // where each was first seen
  std::vector<Draft> drafts_;
  RuleIds ids_;  // one proposal for each draft
  std::vector<std::string> notes_;
};

}  // namespace weir::rules
