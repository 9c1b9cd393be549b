#include "rules/rule_book.h"

#include "rules/rules_file.h"

namespace weir::rules {

RuleBook::RuleBook() : current_(RuleSet::compile({}, names_).value()) {}

Status RuleBook::load(const std::filesystem::path& path, TimePoint now) {
  const std::lock_guard loading(loading_);
  {
    const std::lock_guard lock(mutex_);
    path_ = path;
  }
  return install(read_rules_file(path), now);
}

Status RuleBook::reload(TimePoint now) {
  const std::lock_guard loading(loading_);
  std::filesystem::path path;
  {
    const std::lock_guard lock(mutex_);
    path = path_;
  }
  if (path.empty()) return Failure{Code::failed_precondition, "these rules were not loaded from a file"};
  return install(read_rules_file(path), now);
}

Status RuleBook::replace(const Rules& rules, TimePoint now) {
  const std::lock_guard loading(loading_);
  return install(rules, now);
}

Status RuleBook::install(Result<Rules> rules, TimePoint now) {
  Result<std::shared_ptr<const RuleSet>> set =
      rules.ok() ? RuleSet::compile(rules.value(), names_) : Result<std::shared_ptr<const RuleSet>>(rules.failure());
  std::shared_ptr<const RuleSet> replaced;  // may be the last reference: destroyed after the lock is gone
  const std::lock_guard lock(mutex_);
  if (!set.ok()) {
    ++failures_;
    last_error_ = set.failure().message;
    return set.failure();
  }
  replaced = std::move(current_);
  current_ = std::move(set).value();
  last_error_.clear();
  last_success_ = now;
  ++successes_;
  version_.fetch_add(1, std::memory_order_release);
  return success();
}

std::shared_ptr<const RuleSet> RuleBook::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
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

}  // namespace weir::rules
