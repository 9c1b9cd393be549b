// Conditions of rules and overrides, compiled. Immutable; matching does not allocate, except that RE2 may build
// states of an expression the first times it runs, within kExpressionMemory.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "rules/compile/glob.h"
#include "rules/compile/name_table.h"
#include "rules/compile/request_view.h"
#include "rules/compile/rule_set.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace re2 {
class RE2;
}

namespace weir::rules {

inline constexpr std::size_t kMaxConditions = 64;    // per rule or override
inline constexpr std::size_t kMaxPatterns = 10'000;  // per condition
inline constexpr std::size_t kMaxPatternBytes = 1'024;
inline constexpr std::size_t kMaxExpressions = 4'096;  // regular expressions per rule set
inline constexpr std::int64_t kExpressionMemory = 256 << 10;

// The attribute whose patterns may be CIDR blocks.
inline constexpr std::string_view kAddressAttribute = "ip";

// What a pattern is, seen from its text alone (weir/rule.h, Condition).
enum class PatternKind : std::uint8_t { exact, glob, expression, block, absent };
PatternKind pattern_kind(std::string_view attribute, std::string_view pattern);

// True when every pattern is a text to be equal to: such a condition can be looked up instead of evaluated.
bool is_equality(const Condition& condition);
// True when the condition is true for requests without the attribute, or only for them.
bool accepts_absent(const Condition& condition);
bool requires_absent(const Condition& condition);

class CompiledCondition {
 public:
  // The failure's message says what is wrong with which pattern.
  static Result<CompiledCondition> compile(const Condition& condition, NameId name);
  CompiledCondition(CompiledCondition&&) noexcept;
  CompiledCondition& operator=(CompiledCondition&&) noexcept;
  ~CompiledCondition();

  NameId name() const { return name_; }
  // True only for requests without the attribute.
  bool requires_absent() const {
    return absent_ && exact_.empty() && globs_.empty() && blocks_.empty() && expressions_.empty();
  }
  // Rough and relative: which of a rule's conditions to try first.
  int expense() const { return !expressions_.empty() ? 3 : !blocks_.empty() ? 2 : !globs_.empty() ? 1 : 0; }

  [[gnu::always_inline]] bool holds(const RequestView& view) const {
    bool carried = false;
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (view.ids[i] != name_) continue;
      if (fits(view.value(i))) return true;
      carried = true;
    }
    return absent_ && !carried;
  }

 private:
  CompiledCondition();
  Status add(std::string_view attribute, const std::string& pattern);
  [[gnu::always_inline]] bool fits(std::string_view value) const {
    if (exact_.size() > kFewTexts) return is_among(value) || fits_pattern(value);
    for (const std::string& text : exact_) {
      if (text.size() == value.size() && std::memcmp(text.data(), value.data(), value.size()) == 0) return true;
    }
    return has_patterns_ && fits_pattern(value);
  }
  bool is_among(std::string_view value) const;
  bool fits_pattern(std::string_view value) const;

  static constexpr std::size_t kFewTexts = 8;

  NameId name_ = kUnknownName;
  bool absent_ = false;             // true without the attribute
  bool has_patterns_ = false;       // globs, blocks or expressions
  std::vector<std::string> exact_;  // sorted
  std::vector<Glob> globs_;
  std::vector<base::IpPrefix> blocks_;
  std::vector<std::unique_ptr<re2::RE2>> expressions_;
};

// Checks a condition without keeping it.
Status check_condition(const Condition& condition);

}  // namespace weir::rules
