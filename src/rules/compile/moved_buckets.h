// Rules whose buckets have other keys in Redis after a reload, because what is in front of them has changed. Pure.
#pragma once

#include <string>
#include <vector>

#include "rules/compile/rule_set.h"
#include "weir/rule.h"

namespace weir::rules {

// The rule's buckets have another hash tag: in Redis it is a part of their keys, so they start full there.
bool changes_hash_tag(const Rule& before, const Rule& after);

// One line for each such rule, as RuleBook::warnings() has them.
std::vector<std::string> moved_bucket_warnings(const RuleSet& before, const RuleSet& after);

}  // namespace weir::rules
