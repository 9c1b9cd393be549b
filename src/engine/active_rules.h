// ActiveRules: a compiled rule set together with what depends on this engine's secret: each rule's hash seed.
// Immutable and shared between threads.
//
// RulesCache hands the current one to any thread without a lock or a contended counter: each thread keeps a reference
// and compares one version number per check. That is the only per-thread state in the library; a thread that stops
// checking holds on to its last rule set until it ends or checks again. New rules are made ready on the thread that
// loads them, so a check after a reload costs a lock and a pointer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "keys/key_encoder.h"
#include "rules/compile/intake.h"
#include "rules/compile/rule_set.h"
#include "rules/rule_book.h"

namespace weir::engine {

struct ActiveRules {
  std::shared_ptr<const rules::RuleSet> set;
  std::shared_ptr<const rules::Intake> intake;  // null: there is neither a block nor a tenant with a plan
  std::vector<keys::SipHash> seeds;             // by the rule's place in the set

  const keys::SipHash& seed(const rules::CompiledRule& rule) const {
    return seeds[static_cast<std::size_t>(&rule - set->rules().data())];
  }
};

class RulesCache final : private rules::RulesUser {
 public:
  RulesCache(std::shared_ptr<rules::RuleBook> book, const HashKey& key);
  ~RulesCache();
  RulesCache(const RulesCache&) = delete;
  RulesCache& operator=(const RulesCache&) = delete;

  // The active rules, valid on this thread until its next call of current() on any engine.
  const ActiveRules& current() {
    const ThreadEntry& entry = entries_[id_ % kThreadEntries];
    const std::uint64_t version = book_->version();
    if (entry.cache_id == id_ && entry.version == version) [[likely]]
      return *entry.rules;
    return *refresh(version);
  }
  // The same, to keep.
  std::shared_ptr<const ActiveRules> current_shared();

  const keys::KeyEncoder& encoder() const { return encoder_; }
  rules::RuleBook& book() { return *book_; }

 private:
  // A few entries, so that a thread that takes turns between limiters does not refresh at every check.
  static constexpr std::size_t kThreadEntries = 4;
  // Plain, so that a check reads it without asking whether it was made. The thread owns the rules in active_rules.cc.
  struct ThreadEntry {
    std::uint64_t cache_id;  // 0: unused
    std::uint64_t version;
    const ActiveRules* rules;
  };
  struct Owned;

  void prepare(const rules::LoadedRules& loaded, std::uint64_t version) override;
  std::shared_ptr<const ActiveRules> make(rules::LoadedRules loaded) const;
  std::shared_ptr<const ActiveRules> built(std::uint64_t version);
  std::shared_ptr<const ActiveRules> refresh(std::uint64_t version);

  static constinit inline thread_local std::array<ThreadEntry, kThreadEntries> entries_{};

  const std::shared_ptr<rules::RuleBook> book_;
  const keys::KeyEncoder encoder_;
  const std::uint64_t id_;  // differs between caches, also if one is built where another was

  std::mutex mutex_;
  std::uint64_t built_version_ = 0;           // guarded by mutex_
  std::shared_ptr<const ActiveRules> built_;  // guarded by mutex_
};

}  // namespace weir::engine
