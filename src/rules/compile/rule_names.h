// RuleNames: every rule id ever loaded gets one number and one stable address, so that decisions can name rules
// after a reload has replaced the rule set that made them, and counters can be arrays. The same for rules' messages.
//
// Thread-safe. Nothing is ever forgotten; kMaxRuleNames and kMaxMessageBytes bound it.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "weir/result.h"

namespace weir::rules {

inline constexpr std::uint32_t kMaxRuleNames = 1'000'000;
inline constexpr std::size_t kMaxMessageBytes = std::size_t{128} << 20;  // of all messages

struct RuleName {
  std::string_view id;
  std::uint32_t ordinal = 0;
};

class RuleNames {
 public:
  // The same id gives the same RuleName each time.
  Result<RuleName> intern(std::string_view id);
  // The RuleName of an id that was loaded; none: it never was.
  std::optional<RuleName> find(std::string_view id) const;
  // A rule's message, at an address that stays; the same text gives the same address.
  Result<std::string_view> intern_message(std::string_view message);
  // The id with this ordinal; empty if there is none.
  std::string_view id_of(std::uint32_t ordinal) const;
  std::uint32_t size() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> ids_;                                   // guarded by mutex_; addresses are stable
  std::unordered_map<std::string_view, std::uint32_t> ordinals_;  // guarded by mutex_
  std::unordered_set<std::string> messages_;                      // guarded by mutex_; addresses are stable
  std::size_t message_bytes_ = 0;                                 // guarded by mutex_
};

}  // namespace weir::rules
