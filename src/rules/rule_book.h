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
#include <vector>

#include "rules/compile/rule_names.h"
#include "rules/compile/rule_set.h"
#include "rules/read/rules_format.h"
#include "weir/allowance.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

// Whether a store can count an allowance; the failure begins with the field to change.
using AllowanceCheck = std::function<Status(const Allowance&)>;

// What a reload did.
enum class LoadEffect : std::uint8_t {
  replaced,   // other rules are loaded
  unchanged,  // the files hold what is loaded already
};

// Gets rules ready before they are loaded, on the thread that loads them, so that no thread that decides has to.
class RulesUser {
 public:
  // `version` is what RuleBook::version() will be. Must not call the book.
  virtual void prepare(const std::shared_ptr<const RuleSet>& set, std::uint64_t version) = 0;

 protected:
  ~RulesUser() = default;
};

class RuleBook {
 public:
  // With `supported`, rules of which any allowance (the rule's own, a plan's or an override's) fails it are refused.
  explicit RuleBook(AllowanceCheck supported = {});

  // Reads a file or folder, which reload() then reads again. The path is remembered even if the load fails.
  // `now` is only told again by last_success().
  Status load(const std::filesystem::path& path, TimePoint now = {}, RulesFormat format = RulesFormat::weir);
  // Failures: failed_precondition when nothing was ever loaded from a path, invalid_argument for rules with faults,
  // and those of read_source(). Files that hold what is loaded already are not compiled again.
  Result<LoadEffect> reload(TimePoint now = {});
  Status replace(const Rules& rules, TimePoint now = {});

  // Never null; no rules at first.
  std::shared_ptr<const RuleSet> current() const;
  // Grows with every success. Whoever sees a version gets that rule set, or a later one, from current().
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  const RuleNames& names() const { return names_; }

  // Users are borrowed. Both wait for a load that is under way.
  void add_user(RulesUser& user);
  void remove_user(RulesUser& user);

  // From now on replaced rules are kept until release_unused() finds that nobody uses them any more: freeing 100,000
  // rules takes longer than a thread that decides may. Without it, the last thread that uses them frees them.
  void keep_replaced();
  void release_unused();

  // Empty when the latest attempt succeeded.
  std::string last_error() const;
  // The `now` of the latest success.
  TimePoint last_success() const;
  std::uint64_t successes() const;
  std::uint64_t failures() const;
  // Reloads that found what was loaded already.
  std::uint64_t unchanged() const;
  // The fingerprint of the files at the latest attempt; 0: they could not be read.
  std::uint64_t last_read() const;

 private:
  Result<LoadEffect> load_path(TimePoint now);
  Result<std::shared_ptr<const RuleSet>> compile(Rules rules, RulesAre are);
  Result<LoadEffect> install(Result<std::shared_ptr<const RuleSet>> set, std::uint64_t read, TimePoint now);

  const AllowanceCheck supported_;
  RuleNames names_;
  std::mutex loading_;             // one load at a time, held while files are read
  std::vector<RulesUser*> users_;  // guarded by loading_
  std::atomic<std::uint64_t> version_{0};

  mutable std::mutex mutex_;                // never held while files are read
  std::shared_ptr<const RuleSet> current_;  // guarded by mutex_, like all below
  std::filesystem::path path_;
  RulesFormat format_ = RulesFormat::weir;
  std::string last_error_;
  TimePoint last_success_{};
  std::uint64_t successes_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t unchanged_ = 0;
  std::uint64_t fingerprint_ = 0;  // of the files that current_ came from; 0: from no file
  std::uint64_t last_read_ = 0;
  bool keeps_replaced_ = false;
  std::vector<std::shared_ptr<const RuleSet>>
      replaced_;  // at most one for each thread and decision that still uses one
};

}  // namespace weir::rules
