#include "rules/compile/slot_notes.h"

#include <algorithm>
#include <string_view>

#include "rules/compile/conditions.h"
#include "rules/compile/per_entry.h"

namespace weir::rules {
namespace {

// The rule counts by the attribute wherever a request carries it: it is alone in an entry of `per`, or the first of
// alternatives.
bool counts_by(const Rule& rule, std::string_view name) {
  return std::any_of(rule.per.begin(), rule.per.end(),
                     [&](const std::string& entry) { return alternatives_of(entry).front() == name; });
}

// The rule applies only to requests with the attribute.
bool needs(const Rule& rule, std::string_view name) {
  return std::any_of(rule.per.begin(), rule.per.end(),
                     [&](const std::string& entry) { return is_only(entry, name); }) ||
         std::any_of(rule.match.begin(), rule.match.end(), [&](const Condition& condition) {
           return condition.attribute == name && !accepts_absent(condition);
         });
}

// What the engine tags the rule's buckets by, if the request carries it.
enum class Tag { tenant, tenant_action, subject };

Tag tag_of(const Rule& rule) {
  const HashTag wanted = rule.hash_tag.value_or(HashTag::tenant);
  if (wanted == HashTag::subject || !counts_by(rule, "tenant")) return Tag::subject;
  return wanted == HashTag::tenant_action && counts_by(rule, "action") ? Tag::tenant_action : Tag::tenant;
}

// True for a list of texts to be equal to: no glob, no expression, no address block.
bool only_texts(const Condition& condition) {
  return condition.attribute != "ip" &&
         std::all_of(condition.patterns.begin(), condition.patterns.end(), [](const std::string& pattern) {
           return pattern.find_first_of("*?") == std::string::npos && !pattern.starts_with('~');
         });
}

bool excludes(const Rule& a, const Rule& b) {
  return std::any_of(a.match.begin(), a.match.end(), [&](const Condition& condition) {
    return requires_absent(condition) && needs(b, condition.attribute);
  });
}

// One rule is about requests without an attribute that the other needs, or they want different texts of one attribute
// (which a request that repeats the name could still have; rare enough not to be warned about).
bool exclude_each_other(const Rule& a, const Rule& b) {
  if (!a.descriptor.empty() && !b.descriptor.empty()) return true;
  if (excludes(a, b) || excludes(b, a)) return true;
  for (const Condition& left : a.match) {
    for (const Condition& right : b.match) {
      if (left.attribute != right.attribute || !only_texts(left) || !only_texts(right)) continue;
      const bool common = std::any_of(left.patterns.begin(), left.patterns.end(), [&](const std::string& pattern) {
        return std::find(right.patterns.begin(), right.patterns.end(), pattern) != right.patterns.end();
      });
      if (!common) return true;
    }
  }
  return false;
}

// For every request that both apply to.
bool share_a_slot(const Rule& a, const Rule& b) {
  const Tag tag = tag_of(a);
  if (tag == Tag::subject || tag != tag_of(b)) return false;
  const auto is_carried = [&](std::string_view name) { return needs(a, name) || needs(b, name); };
  return is_carried("tenant") && (tag == Tag::tenant || is_carried("action"));
}

std::string describe(const Rule& a, const Rule& b) {
  std::string line = "rules " + a.id + " and " + b.id + ": can apply to one request and are in different slots";
  const bool joinable = counts_by(a, "tenant") && counts_by(b, "tenant") && (needs(a, "tenant") || needs(b, "tenant"));
  line += joinable ? "; hash_tag: tenant on both puts them into one slot"
                   : "; no hash_tag puts them into one slot, because not both always count by tenant";
  return line;
}

}  // namespace

std::vector<std::string> slot_notes(const Rules& rules) {
  std::vector<std::string> notes;
  std::size_t more = 0;
  // Pairs, so the work is bounded too: beyond this many rules only the first are compared.
  constexpr std::size_t kComparedRules = 2'000;
  const std::size_t count = std::min(rules.rules.size(), kComparedRules);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const Rule& a = rules.rules[i];
      const Rule& b = rules.rules[j];
      if (a.mode == Mode::off || b.mode == Mode::off || exclude_each_other(a, b)) continue;
      if (share_a_slot(a, b)) continue;
      if (notes.size() < kMaxSlotNotes) {
        notes.push_back(describe(a, b));
      } else {
        ++more;
      }
    }
  }
  if (more > 0) notes.push_back("and " + std::to_string(more) + " more pairs");
  return notes;
}

}  // namespace weir::rules
