// What changes between two rule sets: for whom, in which fields, and which buckets start again. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/rule.h"

namespace weir::advise {

struct FieldChange {
  std::string field;
  std::string before;  // as in a rules file; empty: not set
  std::string after;
};

struct RuleChange {
  enum class Kind : std::uint8_t { added, removed, changed };
  std::string rule;  // empty: a field of the whole file
  Kind kind = Kind::changed;
  std::vector<FieldChange> fields;
  bool fresh = false;  // its buckets start full
  std::string text;    // one sentence for people
};
std::string_view change_name(RuleChange::Kind kind);

// In the order of the new set; removed ones last. Empty: nothing changes. That rules are in another order is no change.
std::vector<RuleChange> diff_rules(const Rules& before, const Rules& after);

// {"changes":[{"rule":…,"change":…,"fields":[{"field":…,"before":…,"after":…}],"state":"kept"|"fresh","text":…}]}
std::string diff_json(const std::vector<RuleChange>& changes);

}  // namespace weir::advise
