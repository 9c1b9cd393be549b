// Explanation: why each rule applies to a request or does not, for people. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/allowance.h"
#include "weir/decision.h"

namespace weir {
struct Rule;
}

namespace weir::rules {

// Whose numbers apply.
enum class AllowanceSource : std::uint8_t { rule, plan, override, emergency };

struct RuleExplanation {
  std::string rule;
  bool applies = false;
  // Why it does not: "match: path is none of the values expected", "per: the request has no api_key",
  // "mode: off", "rollout: the subject is not among the first 10 percent". Empty when it applies.
  std::string why_not;

  // What follows is meaningful only when it applies.
  Mode mode = Mode::enforce;
  std::string chosen;  // "rule", "plan free", "override #2 (launch)", "emergency override #1"
  AllowanceSource source = AllowanceSource::rule;
  // Of the override that applies: one that was set at run time, which may have changed only the mode, or
  // file_override_id() of one in the rules.
  std::string override_id;
  std::optional<Allowance> allowance;    // none: unlimited
  ChargeKind kind = ChargeKind::bucket;  // of a lease the allowance's window is how long one lives
  std::int64_t cost = 0;
  std::int64_t tolerance = 0;           // units that the nodes may admit beyond the capacity: of a synced rule
  std::vector<std::string> counted_by;  // the attributes of the subject: of alternatives the one that is counted
  std::vector<std::string> notes;       // mistakes in the request, such as a plan that the rule does not have
};

struct Explanation {
  std::vector<RuleExplanation> rules;  // every rule, in the order of the file
};

// The id of `rule.overrides[index]`, which is written in the rules: "file:search:2". Those that were set at run time
// are not counted.
std::string file_override_id(const Rule& rule, std::size_t index);

}  // namespace weir::rules
