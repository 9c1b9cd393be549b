// RuleNames: every rule id ever loaded gets one number and one stable address, so that decisions can name rules
// after a reload has replaced the rule set that made them, and counters can be arrays.
//
// Thread-safe. Ids are never forgotten; their number is bounded by kMaxRuleNames.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weir/result.h"

namespace weir::rules {

inline constexpr std::uint32_t kMaxRuleNames = 1'000'000;

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
  // The id with this ordinal; empty if there is none.
  std::string_view id_of(std::uint32_t ordinal) const;
  std::uint32_t size() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> ids_;                                   // guarded by mutex_; addresses are stable
  std::unordered_map<std::string_view, std::uint32_t> ordinals_;  // guarded by mutex_
};

}  // namespace weir::rules
