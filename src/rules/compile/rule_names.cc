#include "rules/compile/rule_names.h"

namespace weir::rules {

Result<RuleName> RuleNames::intern(std::string_view id) {
  const std::lock_guard lock(mutex_);
  if (const auto known = ordinals_.find(id); known != ordinals_.end()) return RuleName{known->first, known->second};
  if (ids_.size() >= kMaxRuleNames) {
    return Failure{Code::resource_exhausted, "this process has already seen " + std::to_string(kMaxRuleNames) +
                                                 " different rule ids; restart it to forget the old ones"};
  }
  const auto ordinal = static_cast<std::uint32_t>(ids_.size());
  const std::string& stored = ids_.emplace_back(id);
  ordinals_.emplace(stored, ordinal);
  return RuleName{stored, ordinal};
}

std::optional<RuleName> RuleNames::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto known = ordinals_.find(id);
  return known == ordinals_.end() ? std::nullopt : std::optional(RuleName{known->first, known->second});
}

Result<std::string_view> RuleNames::intern_message(std::string_view message) {
  if (message.empty()) return std::string_view();
  std::string text(message);
  const std::lock_guard lock(mutex_);
  if (const auto known = messages_.find(text); known != messages_.end()) return std::string_view(*known);
  if (message_bytes_ + text.size() > kMaxMessageBytes) {
    return Failure{Code::resource_exhausted, "this process has already seen " + std::to_string(kMaxMessageBytes >> 20) +
                                                 " MB of different messages; restart it to forget the old ones"};
  }
  message_bytes_ += text.size();
  return std::string_view(*messages_.insert(std::move(text)).first);
}

std::string_view RuleNames::id_of(std::uint32_t ordinal) const {
  const std::lock_guard lock(mutex_);
  return ordinal < ids_.size() ? std::string_view(ids_[ordinal]) : std::string_view();
}

std::uint32_t RuleNames::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(ids_.size());
}

}  // namespace weir::rules
