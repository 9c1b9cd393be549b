#include "engine/active_rules.h"

#include <random>
#include <utility>

namespace weir::engine {
namespace {

std::uint64_t random_id() {
  std::random_device source;
  return (std::uint64_t{source()} << 32 | source()) | (std::uint64_t{1} << 63);  // never the 0 of an unused entry
}

}  // namespace

RulesCache::RulesCache(std::shared_ptr<rules::RuleBook> book, const HashKey& key)
    : book_(std::move(book)), encoder_(key), id_(random_id()) {
  book_->add_user(*this);
}

RulesCache::~RulesCache() { book_->remove_user(*this); }

// What keeps the rules of this thread's entries alive.
struct RulesCache::Owned {
  std::array<std::shared_ptr<const ActiveRules>, kThreadEntries> rules;
  ~Owned() { entries_ = {}; }
};

std::shared_ptr<const ActiveRules> RulesCache::current_shared() { return refresh(book_->version()); }

std::shared_ptr<const ActiveRules> RulesCache::refresh(std::uint64_t version) {
  thread_local Owned owned;
  ThreadEntry& entry = entries_[id_ % kThreadEntries];
  std::shared_ptr<const ActiveRules>& own = owned.rules[id_ % kThreadEntries];
  if (entry.cache_id != id_ || entry.version != version) {
    own = built(version);
    entry = {id_, version, own.get()};
  }
  return own;
}

std::shared_ptr<const ActiveRules> RulesCache::make(rules::LoadedRules loaded) const {
  auto rules = std::make_shared<ActiveRules>();
  rules->set = std::move(loaded.set);
  rules->intake = std::move(loaded.intake);
  rules->seeds.reserve(rules->set->rules().size());
  for (const rules::CompiledRule& rule : rules->set->rules()) {
    rules->seeds.push_back(rule.source.kind == ChargeKind::lease
                               ? encoder_.lease_seed(rule.name.id)
                               : encoder_.seed(rule.name.id, rule.source.allowance.algorithm));
  }
  return rules;
}

void RulesCache::prepare(const rules::LoadedRules& loaded, std::uint64_t version) {
  std::shared_ptr<const ActiveRules> made = make(loaded);
  const std::lock_guard<std::mutex> lock(mutex_);
  built_.swap(made);
  built_version_ = version;
}

// What is built may be newer than `version`, which a thread then sees a moment before the others.
std::shared_ptr<const ActiveRules> RulesCache::built(std::uint64_t version) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (built_ == nullptr || built_version_ < version) {  // the rules that were loaded before this cache was made
    built_ = make(book_->loaded());
    built_version_ = version;
  }
  return built_;
}

}  // namespace weir::engine
