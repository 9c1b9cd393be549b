#include "rules/rule_book.h"

#include <utility>

#include "rules/rule_check.h"

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

Result<Rules> only_rules(Result<ForeignRules> read) {
  if (!read.ok()) return read.failure();
  return std::move(read).value().rules;
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
  }
  return install(only_rules(read_rules(path, format)), now);
}

Status RuleBook::reload(TimePoint now) {
  const std::lock_guard loading(loading_);
  std::filesystem::path path;
  RulesFormat format;
  {
    const std::lock_guard lock(mutex_);
    path = path_;
    format = format_;
  }
  if (path.empty()) return Failure{Code::failed_precondition, "these rules were not loaded from a file"};
  return install(only_rules(read_rules(path, format)), now);
}

Status RuleBook::replace(const Rules& rules, TimePoint now) {
  const std::lock_guard loading(loading_);
  return install(rules, now);
}

Result<std::shared_ptr<const RuleSet>> RuleBook::compile(const Result<Rules>& rules) {
  if (!rules.ok()) return rules.failure();
  Result<std::shared_ptr<const RuleSet>> set = RuleSet::compile(rules.value(), names_);
  if (!set.ok() || !supported_) return set;
  for (const Rule& rule : rules.value().rules) {
    if (Status status = check_allowances(rule, supported_); !status.ok()) return status.failure();
  }
  return set;
}

Status RuleBook::install(const Result<Rules>& rules, TimePoint now) {
  Result<std::shared_ptr<const RuleSet>> set = compile(rules);
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
