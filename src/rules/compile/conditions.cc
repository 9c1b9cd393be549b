#include "rules/compile/conditions.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "rules/compile/fault_list.h"

namespace weir::rules {

PatternKind pattern_kind(std::string_view attribute, std::string_view pattern) {
  if (!pattern.empty() && pattern.front() == '~') return PatternKind::expression;
  if (pattern == kAbsent) return PatternKind::absent;
  if (Glob::is_glob(pattern)) return PatternKind::glob;
  // A lone IPv4 address has one spelling and stays an equality; an IPv6 address has many.
  if (attribute == kAddressAttribute && pattern.find_first_of("/:") != std::string_view::npos) {
    return PatternKind::block;
  }
  return PatternKind::exact;
}

bool is_equality(const Condition& condition) {
  return std::all_of(condition.patterns.begin(), condition.patterns.end(), [&](const std::string& pattern) {
    return pattern_kind(condition.attribute, pattern) == PatternKind::exact;
  });
}

bool accepts_absent(const Condition& condition) {
  return std::find(condition.patterns.begin(), condition.patterns.end(), kAbsent) != condition.patterns.end();
}

bool requires_absent(const Condition& condition) {
  return accepts_absent(condition) && std::all_of(condition.patterns.begin(), condition.patterns.end(),
                                                  [](const std::string& pattern) { return pattern == kAbsent; });
}

CompiledCondition::CompiledCondition() = default;
CompiledCondition::CompiledCondition(CompiledCondition&&) noexcept = default;
CompiledCondition& CompiledCondition::operator=(CompiledCondition&&) noexcept = default;
CompiledCondition::~CompiledCondition() = default;

Result<CompiledCondition> CompiledCondition::compile(const Condition& condition, NameId name) {
  if (condition.patterns.empty()) return Failure{Code::invalid_argument, "has no value, expected at least one"};
  if (condition.patterns.size() > kMaxPatterns) {
    return Failure{Code::out_of_range, "has " + std::to_string(condition.patterns.size()) +
                                           " values, expected at most " + std::to_string(kMaxPatterns)};
  }
  CompiledCondition compiled;
  compiled.name_ = name;
  for (const std::string& pattern : condition.patterns) {
    if (Status added = compiled.add(condition.attribute, pattern); !added.ok()) return added.failure();
  }
  std::sort(compiled.exact_.begin(), compiled.exact_.end());
  compiled.has_patterns_ = !compiled.globs_.empty() || !compiled.blocks_.empty() || !compiled.expressions_.empty();
  return compiled;
}

Status CompiledCondition::add(std::string_view attribute, const std::string& pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return Failure{Code::out_of_range, "is " + in_quotes(pattern) + ", which is longer than " +
                                           std::to_string(kMaxPatternBytes) + " bytes"};
  }
  switch (pattern_kind(attribute, pattern)) {
    case PatternKind::exact:
      exact_.push_back(pattern);
      break;
    case PatternKind::absent:
      absent_ = true;
      break;
    case PatternKind::glob:
      globs_.emplace_back(pattern);
      break;
    case PatternKind::block: {
      const auto block = base::IpPrefix::parse(pattern, base::HostBits::ignored);
      if (!block) {
        return Failure{Code::invalid_argument,
                       "is " + in_quotes(pattern) + ", expected an address or a block such as 10.0.0.0/8"};
      }
      blocks_.push_back(*block);
      break;
    }
    case PatternKind::expression: {
      re2::RE2::Options options(re2::RE2::Quiet);
      options.set_max_mem(kExpressionMemory);
      auto expression = std::make_unique<re2::RE2>(pattern.substr(1), options);
      if (!expression->ok()) {
        return Failure{Code::invalid_argument,
                       "is " + in_quotes(pattern) + ", not a regular expression: " + expression->error()};
      }
      expressions_.push_back(std::move(expression));
      break;
    }
  }
  return success();
}

bool CompiledCondition::is_among(std::string_view value) const {
  return std::binary_search(exact_.begin(), exact_.end(), value);
}

bool CompiledCondition::fits_pattern(std::string_view value) const {
  for (const Glob& glob : globs_) {
    if (glob.matches(value)) return true;
  }
  if (!blocks_.empty()) {
    // The value may be a network: identity makes one of the address of an IPv6 client.
    const std::optional<base::IpPrefix> client = base::IpPrefix::parse(value, base::HostBits::ignored);
    const auto contains = [&](const base::IpPrefix& block) { return block.contains(*client); };
    if (client && std::any_of(blocks_.begin(), blocks_.end(), contains)) return true;
  }
  for (const auto& expression : expressions_) {
    if (re2::RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *expression)) return true;
  }
  return false;
}

Status check_condition(const Condition& condition) {
  const Result<CompiledCondition> compiled = CompiledCondition::compile(condition, kUnknownName);
  if (!compiled.ok()) return compiled.failure();
  return success();
}

}  // namespace weir::rules
