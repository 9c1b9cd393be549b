// RuleBook: the rules in force, and how they are replaced.
//
// Thread-safe. A load that fails changes nothing but last_error() and the counters: the last good rules stay. Readers
// on the hot path compare version() with what they have and call current() only when it differs.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "rules/rule_names.h"
#include "rules/rule_set.h"
#include "rules/rules_format.h"
#include "weir/allowance.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

// Whether a store can count an allowance; the failure begins with the field to change.
using AllowanceCheck = std::function<Status(const Allowance&)>;

class RuleBook {
 public:
  // With `supported`, rules of which any allowance (the rule's own, a plan's or an override's) fails it are refused.
  explicit RuleBook(AllowanceCheck supported = {});

  // Reads a file or folder, which reload() then reads again. The path is remembered even if the load fails.
  // `now` is only told again by last_success().
  Status load(const std::filesystem::path& path, TimePoint now = {}, RulesFormat format = RulesFormat::weir);
  // Failure failed_precondition when nothing was ever loaded from a path.
  Status reload(TimePoint now = {});
  Status replace(const Rules& rules, TimePoint now = {});

  // Never null; no rules at first.
  std::shared_ptr<const RuleSet> current() const;
  // Grows with every success. Whoever sees a version gets that rule set, or a later one, from current().
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  const RuleNames& names() const { return names_; }

  // Empty when the latest attempt succeeded.
  std::string last_error() const;
  // The `now` of the latest success.
  TimePoint last_success() const;
  std::uint64_t successes() const;
  std::uint64_t failures() const;

 private:
  Result<std::shared_ptr<const RuleSet>> compile(const Result<Rules>& rules);
  Status install(const Result<Rules>& rules, TimePoint now);

  const AllowanceCheck supported_;
  RuleNames names_;
  std::mutex loading_;  // one load at a time, held while files are read
  std::atomic<std::uint64_t> version_{0};

  mutable std::mutex mutex_;                // never held while files are read
  std::shared_ptr<const RuleSet> current_;  // guarded by mutex_, like all below
  std::filesystem::path path_;
  RulesFormat format_ = RulesFormat::weir;
  std::string last_error_;
  TimePoint last_success_{};
  std::uint64_t successes_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace weir::rules
