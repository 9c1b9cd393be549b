// What operators set on top of whatever rules are loaded: overrides, blocks, the plans of tenants.
#include <algorithm>
#include <utility>

#include "rules/rule_book.h"

namespace weir::rules {
namespace {

// All of them are compiled again with each change.
constexpr std::size_t kMostBlockChanges = 1'000;

}  // namespace

Status RuleBook::set_overrides(std::vector<RuntimeOverride> overrides, TimePoint now) {
  const std::lock_guard loading(loading_);
  if (overrides.empty() && overrides_.empty()) return success();
  KeptVersion latest;
  std::vector<std::string> warnings;
  {
    const std::lock_guard lock(mutex_);
    if (const KeptVersion* kept = history_.latest()) latest = *kept;
    warnings = warnings_;
  }
  if (latest.base == nullptr) {  // the first rules will have them
    overrides_ = std::move(overrides);
    return success();
  }
  Result<ForeignRules> parsed = parse_rules(latest.base->texts, latest.base->source, latest.base->format, now);
  if (!parsed.ok()) return parsed.failure();
  Result<Made> made = make(std::move(parsed.value().rules), *latest.base, *latest.changes, overrides,
                           latest.about.number, latest.stamp, now);
  if (!made.ok()) return made.failure();
  overrides_ = std::move(overrides);
  LoadedRules loaded{std::move(made.value().set), this->loaded().intake};
  prepare_users(loaded);
  install(std::move(loaded), std::nullopt, std::move(warnings), std::move(made.value().misfits));
  return success();
}

Status RuleBook::set_blocks(std::vector<Block> blocks) {
  const std::lock_guard loading(loading_);
  if (blocks.empty() && runtime_blocks_ == nullptr) return success();
  std::shared_ptr<const BlockSet> set;
  if (!blocks.empty()) {
    Result<std::shared_ptr<const BlockSet>> compiled = BlockSet::compile(std::move(blocks));
    if (!compiled.ok()) return compiled.failure();
    set = std::move(compiled).value();
  }
  Result<std::shared_ptr<const Intake>> intake = make_intake(base_blocks_, set);
  if (!intake.ok()) return intake.failure();
  block_changes_.clear();
  set_blocks_ = set;
  runtime_blocks_ = std::move(set);
  install_intake(std::move(intake).value());
  return success();
}

bool RuleBook::takes_block_changes(std::size_t count) {
  const std::lock_guard loading(loading_);
  return set_blocks_ != nullptr && block_changes_.size() + count <= kMostBlockChanges;
}

Status RuleBook::change_blocks(std::map<std::string, std::optional<Block>> changes) {
  const std::lock_guard loading(loading_);
  std::map<std::string, std::optional<Block>> all = block_changes_;
  for (auto& [id, block] : changes) all[id] = std::move(block);
  Result<std::shared_ptr<const BlockSet>> changed = BlockSet::changed(set_blocks_, all);
  if (!changed.ok()) return changed.failure();
  Result<std::shared_ptr<const Intake>> intake = make_intake(base_blocks_, changed.value());
  if (!intake.ok()) return intake.failure();
  block_changes_ = std::move(all);
  runtime_blocks_ = std::move(changed).value();
  install_intake(std::move(intake).value());
  return success();
}

void RuleBook::set_plans(std::shared_ptr<const PlanTable> plans) {
  const std::lock_guard loading(loading_);
  if (plans != nullptr && plans->empty()) plans.reset();
  if (plans == nullptr && plans_ == nullptr) return;
  plans_ = std::move(plans);
  const std::shared_ptr<const Intake> before = loaded().intake;
  auto intake = std::make_shared<Intake>();
  if (before != nullptr) intake->blocks = before->blocks;
  intake->plans = plans_;
  const bool none = intake->blocks == nullptr && intake->plans == nullptr;
  install_intake(none ? nullptr : std::move(intake));
}

Result<std::shared_ptr<const Intake>> RuleBook::make_intake(const std::vector<Block>& base_blocks,
                                                            std::shared_ptr<const BlockSet> runtime_blocks) const {
  if (base_blocks.empty() && runtime_blocks == nullptr && plans_ == nullptr) return std::shared_ptr<const Intake>();
  auto intake = std::make_shared<Intake>();
  intake->plans = plans_;
  intake->blocks = std::move(runtime_blocks);
  if (!base_blocks.empty()) {
    Result<std::shared_ptr<const BlockSet>> compiled = BlockSet::over(std::move(intake->blocks), base_blocks);
    if (!compiled.ok()) return compiled.failure();
    intake->blocks = std::move(compiled).value();
  }
  return std::shared_ptr<const Intake>(std::move(intake));
}

void RuleBook::prepare_users(const LoadedRules& loaded) {
  for (RulesUser* user : users_) user->prepare(loaded, version() + 1);
}

void RuleBook::install_intake(std::shared_ptr<const Intake> intake) {
  LoadedRules loaded = this->loaded();
  loaded.intake = intake;
  prepare_users(loaded);
  const std::lock_guard lock(mutex_);
  intake_.swap(intake);
  if (keeps_replaced_ && intake != nullptr) replaced_.push_back(std::move(intake));
  version_.fetch_add(1, std::memory_order_release);
}

void RuleBook::mark_blocks(std::vector<Block>& blocks) const {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto same = [&](const Block& before) {
      return before.when == blocks[i].when && before.until == blocks[i].until && before.reason == blocks[i].reason;
    };
    // Blocks are seldom moved: look at the same place first.
    if (i < base_blocks_.size() && same(base_blocks_[i])) {
      blocks[i].use = base_blocks_[i].use;
    } else {
      blocks[i].use = std::make_shared<UseMark>("file-" + std::to_string(i + 1));
    }
  }
}

}  // namespace weir::rules
