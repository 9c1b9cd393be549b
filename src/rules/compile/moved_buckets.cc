#include "rules/compile/moved_buckets.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "rules/compile/per_entry.h"

namespace weir::rules {
namespace {

// Also if it is one of several alternatives: some of the buckets are tagged by it.
bool may_count_by(const Rule& rule, std::string_view name) {
  bool found = false;
  for (const std::string& entry : rule.per) {
    for_each_name(entry, [&](std::string_view each) { found = found || each == name; });
  }
  return found;
}

// What the engine tags the rule's buckets by.
HashTag effective_tag(const Rule& rule) {
  const HashTag wanted = rule.hash_tag.value_or(HashTag::tenant);
  if (wanted == HashTag::subject || !may_count_by(rule, "tenant")) return HashTag::subject;
  return wanted == HashTag::tenant_action && may_count_by(rule, "action") ? HashTag::tenant_action : HashTag::tenant;
}

bool has_hash_tag(const CompiledRule& rule) { return rule.source.hash_tag.has_value(); }

}  // namespace

bool changes_hash_tag(const Rule& before, const Rule& after) { return effective_tag(before) != effective_tag(after); }

std::vector<std::string> moved_bucket_warnings(const RuleSet& before, const RuleSet& after) {
  std::vector<std::string> warnings;
  const auto any_tag = [](const RuleSet& set) {
    return std::any_of(set.rules().begin(), set.rules().end(), has_hash_tag);
  };
  if (!any_tag(before) && !any_tag(after)) return warnings;
  std::unordered_map<std::string_view, const Rule*> known;
  for (const CompiledRule& rule : before.rules()) known.emplace(rule.source.id, &rule.source);
  for (const CompiledRule& rule : after.rules()) {
    const auto found = known.find(rule.source.id);
    if (found == known.end() || found->second->per != rule.source.per) continue;
    if (!changes_hash_tag(*found->second, rule.source)) continue;
    warnings.push_back("rule " + rule.source.id +
                       ": hash_tag: has changed; it is a part of the keys in Redis, so the rule's buckets start full "
                       "there");
  }
  return warnings;
}

}  // namespace weir::rules
