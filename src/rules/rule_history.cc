#include "rules/rule_history.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rules/compile/fault_list.h"
#include "rules/read/rules_text.h"

namespace weir::rules {
namespace {

std::size_t bytes_of(const RulesBase& base) {
  std::size_t bytes = 0;
  for (const SourceText& each : base.texts) bytes += each.text.size();
  return bytes;
}

}  // namespace

Result<Rules> apply_changes(Rules rules, const RuleChanges& changes) {
  if (changes.empty()) return rules;
  std::unordered_map<std::string_view, std::size_t> position;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) position.emplace(rules.rules[i].id, i);
  std::unordered_set<std::string_view> removed;
  for (const std::string& id : changes.removed) {
    if (!position.contains(id)) return Failure{Code::not_found, "rule " + in_quotes(id) + " does not exist"};
    removed.insert(id);
  }
  Rules made = rules;
  made.global_shadow = made.global_shadow || changes.global_shadow;
  for (const Rule& rule : changes.rules) {
    const auto found = position.find(rule.id);
    if (found != position.end()) {
      made.rules[found->second] = rule;
    } else {
      made.rules.push_back(rule);
    }
  }
  std::erase_if(made.rules, [&removed](const Rule& rule) { return removed.contains(rule.id); });
  return made;
}

std::uint64_t content_hash(const RulesBase& base, const RuleChanges& changes) {
  SourceTexts texts;
  Rules changed;
  changed.rules = changes.rules;
  changed.global_shadow = changes.global_shadow;
  std::string removed;
  for (const std::string& id : changes.removed) removed += id + "\n";
  texts.push_back({removed, write_rules(changed)});
  return fingerprint(base.texts) ^ (changes.empty() ? 0 : fingerprint(texts));
}

void RuleHistory::add(KeptVersion version) {
  versions_.push_back(std::move(version));
  if (versions_.size() > kMaxVersions) versions_.pop_front();
  drop_texts_beyond_bound();
}

// From the newest to the oldest, so that the newest are kept; the active one always is.
void RuleHistory::drop_texts_beyond_bound() {
  std::size_t bytes = 0;
  std::unordered_set<const RulesBase*> counted;
  for (auto version = versions_.rbegin(); version != versions_.rend(); ++version) {
    if (version->base == nullptr) continue;
    if (counted.insert(version->base.get()).second) bytes += bytes_of(*version->base);
    if (bytes <= kMaxKeptBytes || version == versions_.rbegin()) continue;
    version->base.reset();
    version->about.restorable = false;
  }
}

std::vector<RulesVersion> RuleHistory::list() const {
  std::vector<RulesVersion> out;
  for (const KeptVersion& version : versions_) out.push_back(version.about);
  return out;
}

const KeptVersion* RuleHistory::find(std::uint64_t number) const {
  const auto found = std::find_if(versions_.begin(), versions_.end(),
                                  [&](const KeptVersion& version) { return version.about.number == number; });
  return found == versions_.end() ? nullptr : &*found;
}

}  // namespace weir::rules
