#include "rules/rule_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "rules/compile/rule_check.h"

namespace weir::rules {
namespace {

// Every allowance that the rule may ever choose. The message names the rule and, where it is not the rule's own
// allowance, the plan or override.
Status check_allowances(const Rule& rule, const AllowanceCheck& supported) {
  const auto check = [&](const AllowanceChange& change, const std::string& where) -> Status {
    if (is_unlimited(rule, change)) return success();
    const Result<Allowance> allowance = make_allowance(changed_spec(rule, change));
    Status status = allowance.ok() ? supported(allowance.value()) : Status(allowance.failure());
    if (status.ok()) return status;
    return Failure{status.failure().code, "rule " + rule.id + ": " + where + status.failure().message};
  };
  if (Status own = check({}, ""); !own.ok()) return own;
  for (const Plan& plan : rule.plans) {
    if (Status status = check(plan.change, "plan " + plan.name + ": "); !status.ok()) return status;
  }
  for (std::size_t i = 0; i < rule.overrides.size(); ++i) {
    const std::string where = "override " + std::to_string(i + 1) + ": ";
    if (Status status = check(rule.overrides[i].change, where); !status.ok()) return status;
  }
  return success();
}

}  // namespace

RuleBook::RuleBook(AllowanceCheck supported)
    : supported_(std::move(supported)), current_(RuleSet::compile({}, names_).value()) {}

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
  std::filesystem::path path;
  RulesFormat format;
  std::uint64_t loaded = 0;
  {
    const std::lock_guard lock(mutex_);
    path = path_;
    format = format_;
    loaded = last_error_.empty() ? fingerprint_ : 0;
  }
  if (path.empty()) return Failure{Code::failed_precondition, "these rules were not loaded from a file"};
  const Result<SourceTexts> texts = read_source(path);
  if (!texts.ok()) return install(texts.failure(), 0, now);
  const std::uint64_t read = fingerprint(texts.value());
  if (read == loaded) {
    const std::lock_guard lock(mutex_);
    ++unchanged_;
    return LoadEffect::unchanged;
  }
  Result<ForeignRules> parsed = parse_rules(texts.value(), path.string(), format);
  if (!parsed.ok()) return install(parsed.failure(), read, now);
  const RulesAre are = format == RulesFormat::weir ? RulesAre::checked : RulesAre::unchecked;
  return install(compile(std::move(parsed).value().rules, are), read, now);
}

Status RuleBook::replace(const Rules& rules, TimePoint now) {
  const std::lock_guard loading(loading_);
  Result<LoadEffect> loaded = install(compile(rules, RulesAre::unchecked), 0, now);
  if (!loaded.ok()) return loaded.failure();
  return success();
}

Result<std::shared_ptr<const RuleSet>> RuleBook::compile(Rules rules, RulesAre are) {
  Result<std::shared_ptr<const RuleSet>> set = RuleSet::compile(std::move(rules), names_, are);
  if (!set.ok() || !supported_) return set;
  for (const CompiledRule& rule : set.value()->rules()) {
    if (Status status = check_allowances(rule.source, supported_); !status.ok()) return status.failure();
  }
  return set;
}

Result<LoadEffect> RuleBook::install(Result<std::shared_ptr<const RuleSet>> set, std::uint64_t read, TimePoint now) {
  if (set.ok()) {
    for (RulesUser* user : users_) user->prepare(set.value(), version() + 1);
  }
  std::shared_ptr<const RuleSet> replaced;  // may be the last reference: destroyed after the lock is gone
  const std::lock_guard lock(mutex_);
  last_read_ = read;
  if (!set.ok()) {
    ++failures_;
    last_error_ = set.failure().message;
    return set.failure();
  }
  replaced = std::move(current_);
  if (keeps_replaced_) replaced_.push_back(std::move(replaced));
  current_ = std::move(set).value();
  fingerprint_ = read;
  last_error_.clear();
  last_success_ = now;
  ++successes_;
  version_.fetch_add(1, std::memory_order_release);
  return LoadEffect::replaced;
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

void RuleBook::release_unused() {
  std::vector<std::shared_ptr<const RuleSet>> unused;  // destroyed after the lock is gone
  const std::lock_guard lock(mutex_);
  // Nobody can get hold of a replaced set any more, so a count of one stays one.
  const auto is_used = [](const std::shared_ptr<const RuleSet>& set) { return set.use_count() > 1; };
  const auto first = std::partition(replaced_.begin(), replaced_.end(), is_used);
  unused.assign(std::make_move_iterator(first), std::make_move_iterator(replaced_.end()));
  replaced_.erase(first, replaced_.end());
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

std::uint64_t RuleBook::unchanged() const {
  const std::lock_guard lock(mutex_);
  return unchanged_;
}

std::uint64_t RuleBook::last_read() const {
  const std::lock_guard lock(mutex_);
  return last_read_;
}

}  // namespace weir::rules
