// RuleHistory: the versions of a RuleBook, with enough of each to make it active again. Bounded in number and bytes.
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rules/compile/rules_stamp.h"
#include "rules/read/rules_format.h"
#include "rules/read/rules_source.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

// The lower layer of the rules: texts as they were read, or as write_rules makes them.
struct RulesBase {
  SourceTexts texts;
  RulesFormat format = RulesFormat::weir;
  std::string source;  // a path, or "code"
};

// The upper layer: changes made at run time.
struct RuleChanges {
  std::vector<Rule> rules;           // each replaces the rule with its id, or is added at the end
  std::vector<std::string> removed;  // ids
  bool global_shadow = false;        // as in Rules, in addition to the base's

  bool empty() const { return rules.empty() && removed.empty() && !global_shadow; }
  bool operator==(const RuleChanges&) const = default;
};

// The rules with the changes made. Failure: not_found, with the id of a rule that is to be removed and does not exist.
Result<Rules> apply_changes(Rules rules, const RuleChanges& changes);

// What history() tells of a version.
struct RulesVersion {
  std::uint64_t number = 0;
  std::uint64_t content = 0;  // a hash of the base and the changes
  TimePoint loaded{};
  std::string source;
  bool has_changes = false;
  std::size_t rules = 0;
  bool restorable = true;  // false: its texts were dropped to stay within kMaxKeptBytes
};

struct KeptVersion {
  RulesVersion about;
  std::shared_ptr<const RulesBase> base;
  std::shared_ptr<const RuleChanges> changes;
  std::shared_ptr<const RulesStamp> stamp;  // null: no one has made one
};

inline constexpr std::size_t kMaxVersions = 20;
inline constexpr std::size_t kMaxKeptBytes = kMaxRulesFolderBytes;

class RuleHistory {
 public:
  void add(KeptVersion version);

  std::vector<RulesVersion> list() const;
  // Null: not kept.
  const KeptVersion* find(std::uint64_t number) const;
  // Null before the first version.
  const KeptVersion* latest() const { return versions_.empty() ? nullptr : &versions_.back(); }

 private:
  // Texts that several versions share count once.
  void drop_texts_beyond_bound();

  std::deque<KeptVersion> versions_;
};

// Of a version's content: the same for the same texts and changes.
std::uint64_t content_hash(const RulesBase& base, const RuleChanges& changes);

}  // namespace weir::rules
