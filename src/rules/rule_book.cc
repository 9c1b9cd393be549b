#include "rules/rule_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "rules/compile/moved_buckets.h"
#include "rules/compile/rule_check.h"
#include "rules/read/rules_text.h"

namespace weir::rules {

RuleBook::RuleBook() : current_(RuleSet::compile({}, names_).value()) {}

Status RuleBook::load(const std::filesystem::path& path, TimePoint now, RulesFormat format) {
  const std::lock_guard loading(loading_);
  {
    const std::lock_guard lock(mutex_);
    path_ = path;
    format_ = format;
    fingerprint_ = 0;
  }
  Result<LoadEffect> loaded = load_path(now);
  if (!loaded.ok()) return loaded.failure();
  return success();
}

Result<LoadEffect> RuleBook::reload(TimePoint now) {
  const std::lock_guard loading(loading_);
  return load_path(now);
}

Result<LoadEffect> RuleBook::load_path(TimePoint now) {
  RulesBase base;
  std::filesystem::path path;
  std::uint64_t loaded = 0;
  std::shared_ptr<const RuleChanges> changes;
  {
    const std::lock_guard lock(mutex_);
    path = path_;
    base.format = format_;
    loaded = last_error_.empty() ? fingerprint_ : 0;
    if (const KeptVersion* latest = history_.latest()) changes = latest->changes;
  }
  if (path.empty()) return Failure{Code::failed_precondition, "these rules were not loaded from a file"};
  base.source = path.string();
  Result<SourceTexts> texts = read_source(path);
  const std::uint64_t read = texts.ok() ? fingerprint(texts.value()) : 0;
  {
    const std::lock_guard lock(mutex_);
    last_read_ = read;
    if (texts.ok() && read == loaded) {
      ++unchanged_;
      return LoadEffect::unchanged;
    }
  }
  if (!texts.ok()) return fail(texts.failure());
  base.texts = std::move(texts).value();
  Result<ForeignRules> parsed = parse_rules(base.texts, base.source, base.format, now);
  if (!parsed.ok()) return fail(parsed.failure());
  Status activated =
      activate(std::make_shared<const RulesBase>(std::move(base)), std::move(changes), std::move(parsed).value(), now);
  if (!activated.ok()) return fail(activated.failure());
  succeed(read);
  return LoadEffect::replaced;
}

Status RuleBook::replace(const Rules& rules, TimePoint now) {
  const std::lock_guard loading(loading_);
  if (Status checked = check_rules(rules); !checked.ok()) return fail(checked.failure());
  std::shared_ptr<const RuleChanges> changes;
  {
    const std::lock_guard lock(mutex_);
    if (const KeptVersion* latest = history_.latest()) changes = latest->changes;
    last_read_ = 0;
  }
  RulesBase base{.texts = {{"code", write_rules(rules)}}, .format = RulesFormat::weir, .source = "code"};
  Status activated =
      activate(std::make_shared<const RulesBase>(std::move(base)), std::move(changes), {rules, {}, {}}, now);
  if (!activated.ok()) return fail(activated.failure());
  succeed(0);
  return success();
}

Status RuleBook::replace_texts(SourceTexts texts, std::string source, TimePoint now) {
  const std::lock_guard loading(loading_);
  auto base = std::make_shared<const RulesBase>(
      RulesBase{.texts = std::move(texts), .format = RulesFormat::weir, .source = std::move(source)});
  std::shared_ptr<const RuleChanges> changes;
  {
    const std::lock_guard lock(mutex_);
    if (const KeptVersion* latest = history_.latest()) changes = latest->changes;
    last_read_ = fingerprint(base->texts);
  }
  if (Status activated = activate_kept(std::move(base), std::move(changes), now); !activated.ok()) {
    return fail(activated.failure());
  }
  succeed(0);
  return success();
}

Status RuleBook::set_changes(RuleChanges changes, TimePoint now) {
  const std::lock_guard loading(loading_);
  std::shared_ptr<const RulesBase> base;
  {
    const std::lock_guard lock(mutex_);
    if (const KeptVersion* latest = history_.latest()) base = latest->base;
  }
  if (base == nullptr) return Failure{Code::failed_precondition, "no rules are loaded that could be changed"};
  return activate_kept(std::move(base), std::make_shared<const RuleChanges>(std::move(changes)), now);
}

Status RuleBook::restore(std::uint64_t version, TimePoint now) {
  const std::lock_guard loading(loading_);
  KeptVersion kept;
  {
    const std::lock_guard lock(mutex_);
    const KeptVersion* found = history_.find(version);
    if (found == nullptr) return Failure{Code::not_found, "version " + std::to_string(version) + " is not kept"};
    kept = *found;
  }
  if (kept.base == nullptr) {
    return Failure{Code::failed_precondition,
                   "the texts of version " + std::to_string(version) + " are no longer kept"};
  }
  Status activated = activate_kept(std::move(kept.base), std::move(kept.changes), now);
  const std::lock_guard lock(mutex_);
  if (activated.ok()) fingerprint_ = 0;  // the file may have other rules
  return activated;
}

void RuleBook::accept_only(std::function<Status(const Rules&)> check) {
  const std::lock_guard lock(loading_);
  if (!accept_) {
    accept_ = std::move(check);
    return;
  }
  accept_ = [before = std::move(accept_), also = std::move(check)](const Rules& rules) {
    Status accepted = before(rules);
    return accepted.ok() ? also(rules) : accepted;
  };
}

void RuleBook::stamp_with(MakeStamp make) {
  const std::lock_guard lock(loading_);
  make_stamp_ = std::move(make);
}

Status RuleBook::activate_kept(std::shared_ptr<const RulesBase> base, std::shared_ptr<const RuleChanges> changes,
                               TimePoint now) {
  Result<ForeignRules> parsed = parse_rules(base->texts, base->source, base->format, now);
  if (!parsed.ok()) return parsed.failure();
  return activate(std::move(base), std::move(changes), std::move(parsed).value(), now);
}

Status RuleBook::activate(std::shared_ptr<const RulesBase> base, std::shared_ptr<const RuleChanges> changes,
                          ForeignRules read, TimePoint now) {
  if (changes == nullptr) changes = std::make_shared<const RuleChanges>();
  std::shared_ptr<const RulesStamp> stamp;
  if (make_stamp_) stamp = make_stamp_(*base, version() + 1);
  Result<Made> made = make(std::move(read.rules), *base, *changes, overrides_, version() + 1, stamp, now);
  if (!made.ok()) return made.failure();
  std::vector<Block> blocks = std::move(made.value().blocks);
  mark_blocks(blocks);
  Result<std::shared_ptr<const Intake>> intake = make_intake(blocks, runtime_blocks_);
  if (!intake.ok()) return intake.failure();
  base_blocks_ = std::move(blocks);
  LoadedRules loaded{std::move(made.value().set), std::move(intake).value()};
  for (std::string& warning : moved_bucket_warnings(*current(), *loaded.set)) {
    read.warnings.push_back(std::move(warning));
  }
  prepare_users(loaded);
  RulesVersion about{.number = version() + 1,
                     .content = content_hash(*base, *changes),
                     .loaded = now,
                     .source = base->source,
                     .has_changes = !changes->empty(),
                     .rules = loaded.set->rules().size()};
  install(std::move(loaded), KeptVersion{std::move(about), std::move(base), std::move(changes), std::move(stamp)},
          std::move(read.warnings), std::move(made.value().misfits));
  return success();
}

Result<RuleBook::Made> RuleBook::make(Rules rules, const RulesBase& base, const RuleChanges& changes,
                                      const std::vector<RuntimeOverride>& overrides, std::uint64_t version,
                                      std::shared_ptr<const RulesStamp> stamp, TimePoint now) {
  Result<Rules> changed = apply_changes(std::move(rules), changes);
  if (!changed.ok()) return changed.failure();
  const bool checked = base.format == RulesFormat::weir && changes.empty();
  if (!checked) {
    if (Status status = check_rules(changed.value()); !status.ok()) return status.failure();
  }
  if (accept_) {
    if (Status accepted = accept_(changed.value()); !accepted.ok()) return accepted.failure();
  }
  Result<std::vector<std::string>> misfits = add_overrides(changed.value(), overrides);
  if (!misfits.ok()) return misfits.failure();
  Made made{.blocks = std::move(changed.value().blocks), .misfits = std::move(misfits).value()};
  const std::shared_ptr<const RuleSet> before = current();
  Result<std::shared_ptr<const RuleSet>> compiled = RuleSet::compile(
      std::move(changed).value(), names_, RulesAre::checked,
      {.version = version, .issues = issues_, .loaded = now, .before = before.get(), .stamp = std::move(stamp)});
  if (!compiled.ok()) return compiled.failure();
  made.set = std::move(compiled).value();
  return made;
}

Failure RuleBook::fail(Failure failure) {
  const std::lock_guard lock(mutex_);
  ++failures_;
  last_error_ = failure.message;
  return failure;
}

void RuleBook::succeed(std::uint64_t read) {
  const std::lock_guard lock(mutex_);
  fingerprint_ = read;
  last_error_.clear();
  ++successes_;
}

void RuleBook::install(LoadedRules loaded, std::optional<KeptVersion> version, std::vector<std::string> warnings,
                       std::vector<std::string> misfits) {
  LoadedRules replaced;  // may be the last references: destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  replaced = {std::move(current_), std::move(intake_)};
  if (keeps_replaced_) replaced_.push_back(std::move(replaced.set));
  if (keeps_replaced_ && replaced.intake != loaded.intake) replaced_.push_back(std::move(replaced.intake));
  current_ = std::move(loaded.set);
  intake_ = std::move(loaded.intake);
  if (version) {
    last_success_ = version->about.loaded;
    history_.add(std::move(*version));
  }
  warnings_ = std::move(warnings);
  misfits_ = std::move(misfits);
  version_.fetch_add(1, std::memory_order_release);
}

void RuleBook::add_user(RulesUser& user) {
  const std::lock_guard loading(loading_);
  users_.push_back(&user);
}

void RuleBook::remove_user(RulesUser& user) {
  const std::lock_guard loading(loading_);
  std::erase(users_, &user);
}

void RuleBook::keep_replaced() {
  const std::lock_guard lock(mutex_);
  keeps_replaced_ = true;
}

std::vector<std::shared_ptr<const void>> RuleBook::take_unused() {
  std::vector<std::shared_ptr<const void>> unused;
  const std::lock_guard lock(mutex_);
  // No thread can get a replaced set any more, so a count of one stays one.
  const auto is_used = [](const std::shared_ptr<const void>& set) { return set.use_count() > 1; };
  const auto first = std::partition(replaced_.begin(), replaced_.end(), is_used);
  unused.assign(std::make_move_iterator(first), std::make_move_iterator(replaced_.end()));
  replaced_.erase(first, replaced_.end());
  return unused;
}

std::shared_ptr<const RuleSet> RuleBook::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

LoadedRules RuleBook::loaded() const {
  const std::lock_guard lock(mutex_);
  return {current_, intake_};
}

std::vector<std::string> RuleBook::misfits() const {
  const std::lock_guard lock(mutex_);
  return misfits_;
}

std::vector<RulesVersion> RuleBook::history() const {
  const std::lock_guard lock(mutex_);
  return history_.list();
}

RuleChanges RuleBook::changes() const {
  const std::lock_guard lock(mutex_);
  const KeptVersion* latest = history_.latest();
  return latest == nullptr ? RuleChanges() : *latest->changes;
}

std::shared_ptr<const RulesBase> RuleBook::base() const {
  const std::lock_guard lock(mutex_);
  const KeptVersion* latest = history_.latest();
  return latest == nullptr ? nullptr : latest->base;
}

std::vector<std::string> RuleBook::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

std::string RuleBook::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

TimePoint RuleBook::last_success() const {
  const std::lock_guard lock(mutex_);
  return last_success_;
}

std::uint64_t RuleBook::successes() const {
  const std::lock_guard lock(mutex_);
  return successes_;
}

std::uint64_t RuleBook::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

std::uint64_t RuleBook::unchanged() const {
  const std::lock_guard lock(mutex_);
  return unchanged_;
}

std::uint64_t RuleBook::last_read() const {
  const std::lock_guard lock(mutex_);
  return last_read_;
}

}  // namespace weir::rules
