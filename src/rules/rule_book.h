// RuleBook: the active rules, how they are replaced, and the versions before them.
//
// The active rules are made of two layers: a base (a file or folder, or rules made in code) and the changes made at run
// time on top of it, which stay when the base is loaded again. Every success makes a new version; the last kMaxVersions
// are listed by history(), and restore() makes one of them active again.
//
// Besides, there is what operators set for a while: overrides, blocks and the plans of tenants. It stays whatever rules
// are loaded, is no version of its own and is not part of history().
//
// Thread-safe. A load that fails changes nothing but last_error() and the counters: the last good rules stay active.
// Readers on the hot path compare version() with what they have and call current() only when it differs.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rules/compile/intake.h"
#include "rules/compile/match_issues.h"
#include "rules/compile/rule_names.h"
#include "rules/compile/rule_set.h"
#include "rules/read/rules_format.h"
#include "rules/rule_history.h"
#include "rules/runtime_overrides.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

// The effect of a reload.
enum class LoadEffect : std::uint8_t {
  replaced,   // other rules are loaded
  unchanged,  // the files have the same content as what is loaded
};

struct LoadedRules {
  std::shared_ptr<const RuleSet> set;
  std::shared_ptr<const Intake> intake;  // null: there is neither a block nor a tenant with a plan
};

// Prepares rules before they become active, on the thread that loads them, so that no thread that decides has to.
class RulesUser {
 public:
  // `version` is what RuleBook::version() will be. Must not call the book.
  virtual void prepare(const LoadedRules& loaded, std::uint64_t version) = 0;

 protected:
  ~RulesUser() = default;
};

class RuleBook {
 public:
  RuleBook();

  // Reads a file or folder, which reload() then reads again. The path is kept even if the load fails. `now` is what
  // last_success() and history() return, and decides whether overrides have expired (warnings()).
  Status load(const std::filesystem::path& path, TimePoint now = {}, RulesFormat format = RulesFormat::weir);
  // Failures: failed_precondition when nothing was ever loaded from a path, invalid_argument for invalid rules, and
  // those of read_source(). Files with the content that is loaded already are not compiled again.
  Result<LoadEffect> reload(TimePoint now = {});
  // Replaces the base by rules made in code.
  Status replace(const Rules& rules, TimePoint now = {});
  // Replaces the base by texts in Weir's own format, which came from `source`.
  Status replace_texts(SourceTexts texts, std::string source, TimePoint now = {});
  // Replaces the changes on top of the base. The failure names the rule that is wrong.
  Status set_changes(RuleChanges changes, TimePoint now = {});
  Status clear_changes(TimePoint now = {}) { return set_changes({}, now); }
  // Makes the base and the changes of an earlier version active again, as a new version. The file stays as it is, and
  // the next reload reads it. Failures: not_found, or failed_precondition when its texts are no longer kept.
  Status restore(std::uint64_t version, TimePoint now = {});

  // What operators have set. Each replaces what was set of its kind; a failure changes nothing. Overrides that do not
  // fit a rule are left out there, see misfits(). Blocks come in addition to those of the base.
  Status set_overrides(std::vector<RuntimeOverride> overrides, TimePoint now = {});
  Status set_blocks(std::vector<Block> blocks);
  // Changes some of the blocks that were set, by the id of their mark; nothing: it is gone. The cost does not grow with
  // those that stay. Preconditions: those that were set have marks, by id, ascending; takes_block_changes().
  Status change_blocks(std::map<std::string, std::optional<Block>> changes);
  // False: so many changes, with those since set_blocks(), are too many; it is to be called again.
  bool takes_block_changes(std::size_t count);
  void set_plans(std::shared_ptr<const PlanTable> plans);
  std::vector<std::string> misfits() const;

  // The rules and what goes before them.
  LoadedRules loaded() const;
  // From now on only rules that `check` accepts are loaded: what a server cannot keep is refused there.
  // Called again: only those that all checks accept.
  void accept_only(std::function<Status(const Rules&)> check);
  // From now on each version gets the stamp that `make` makes of its base and number, on the thread that loads, before
  // the rules decide anything. Must not call the book.
  using MakeStamp = std::function<std::shared_ptr<const RulesStamp>(const RulesBase& base, std::uint64_t number)>;
  void stamp_with(MakeStamp make);

  // Never null; no rules at first. It carries its version.
  std::shared_ptr<const RuleSet> current() const;
  // Grows by one with every success, also when only what operators have set has changed; a rule set then keeps the
  // version that history() lists. A thread that sees a version gets that rule set, or a later one, from loaded().
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // Oldest first; the last one is active.
  std::vector<RulesVersion> history() const;
  RuleChanges changes() const;
  // The lower layer of the active rules, as it was read; null before the first load.
  std::shared_ptr<const RulesBase> base() const;

  const RuleNames& names() const { return names_; }
  // The name that a rule of this id has or will have.
  Result<RuleName> name_rule(std::string_view id) { return names_.intern(id); }
  // Mistakes in requests that the rules met, since the start.
  const MatchIssueCounters& issues() const { return *issues_; }
  // Of the active rules: "file:line:column: field: what", or "rule ID: field: what" where there is no file.
  std::vector<std::string> warnings() const;

  // Users are borrowed. Both wait for a load that is under way.
  void add_user(RulesUser& user);
  void remove_user(RulesUser& user);

  // From now on replaced rules are kept until release_unused() finds that no thread uses them any more: freeing 100,000
  // rules takes longer than a thread that decides may. Without it, the last thread that uses them frees them.
  void keep_replaced();
  // The replaced rules and blocks that no thread uses any more, for the caller to free.
  std::vector<std::shared_ptr<const void>> take_unused();
  void release_unused() { take_unused(); }

  // Empty when the latest attempt succeeded.
  std::string last_error() const;
  // The `now` of the latest success.
  TimePoint last_success() const;
  std::uint64_t successes() const;
  std::uint64_t failures() const;
  // Reloads that found the content that was loaded already.
  std::uint64_t unchanged() const;
  // The fingerprint of the files at the latest attempt; 0: they could not be read.
  std::uint64_t last_read() const;

 private:
  Result<LoadEffect> load_path(TimePoint now);
  // Applies the changes to what was read from the base, compiles it and makes it active. With loading_ held.
  Status activate(std::shared_ptr<const RulesBase> base, std::shared_ptr<const RuleChanges> changes, ForeignRules read,
                  TimePoint now);
  struct Made {
    std::shared_ptr<const RuleSet> set = nullptr;
    std::vector<Block> blocks = {};  // of the base
    std::vector<std::string> misfits = {};
  };
  Result<Made> make(Rules rules, const RulesBase& base, const RuleChanges& changes,
                    const std::vector<RuntimeOverride>& overrides, std::uint64_t version,
                    std::shared_ptr<const RulesStamp> stamp, TimePoint now);
  // What goes before the rules, of blocks of the base and what operators have set. With loading_ held.
  Result<std::shared_ptr<const Intake>> make_intake(const std::vector<Block>& base_blocks,
                                                    std::shared_ptr<const BlockSet> runtime_blocks) const;
  void prepare_users(const LoadedRules& loaded);
  void install_intake(std::shared_ptr<const Intake> intake);
  // Gives the blocks of the base a mark each: the one that they had, if they are not new.
  void mark_blocks(std::vector<Block>& blocks) const;
  // The same for a base that was read before.
  Status activate_kept(std::shared_ptr<const RulesBase> base, std::shared_ptr<const RuleChanges> changes,
                       TimePoint now);
  // Record the result of an attempt to replace the base. `read` is the fingerprint of the files.
  Failure fail(Failure failure);
  void succeed(std::uint64_t read);
  void install(LoadedRules loaded, std::optional<KeptVersion> version, std::vector<std::string> warnings,
               std::vector<std::string> misfits);

  RuleNames names_;
  const std::shared_ptr<MatchIssueCounters> issues_ = std::make_shared<MatchIssueCounters>();
  std::mutex loading_;             // one load at a time, held while files are read
  std::vector<RulesUser*> users_;  // guarded by loading_, like all that operators have set
  std::vector<RuntimeOverride> overrides_;
  std::shared_ptr<const BlockSet> set_blocks_;                 // as set; null: none
  std::map<std::string, std::optional<Block>> block_changes_;  // since then
  std::shared_ptr<const BlockSet> runtime_blocks_;             // both; null: none
  std::shared_ptr<const PlanTable> plans_;
  std::vector<Block> base_blocks_;              // of the active base
  std::function<Status(const Rules&)> accept_;  // guarded by loading_, like the next
  MakeStamp make_stamp_;
  std::atomic<std::uint64_t> version_{0};

  mutable std::mutex mutex_;                // never held while files are read
  std::shared_ptr<const RuleSet> current_;  // guarded by mutex_, like all below
  std::shared_ptr<const Intake> intake_;
  std::vector<std::string> misfits_;
  RuleHistory history_;
  std::filesystem::path path_;
  RulesFormat format_ = RulesFormat::weir;
  std::vector<std::string> warnings_;
  std::string last_error_;
  TimePoint last_success_{};
  std::uint64_t successes_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t unchanged_ = 0;
  std::uint64_t fingerprint_ = 0;  // of the files that the base came from; 0: read them in any case
  std::uint64_t last_read_ = 0;
  bool keeps_replaced_ = false;
  // At most one for each thread and decision that still uses one.
  std::vector<std::shared_ptr<const void>> replaced_;
};

}  // namespace weir::rules
