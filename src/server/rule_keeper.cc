#include "server/rule_keeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "rules/read/rules_file.h"
#include "server/quickstart.h"

namespace weir::server {
namespace {

// What is wrong with the system, not with the rules. A file that is missing or forbidden is not tried again: the watch
// sees when that changes.
bool may_pass(const Failure& failure) { return failure.code == Code::unavailable; }

}  // namespace

RuleKeeper::RuleKeeper(std::filesystem::path path, Clock& clock, observe::Log& log, rules::AllowanceCheck supported,
                       rules::RulesFormat format)
    : path_(std::move(path)),
      format_(format),
      clock_(clock),
      log_(log),
      book_(std::make_shared<rules::RuleBook>(std::move(supported))) {
  book_->keep_replaced();
  book_->add_user(*this);
  if (!path_.empty()) watch_.emplace(path_);
}

RuleKeeper::~RuleKeeper() { book_->remove_user(*this); }

// Rules that are off are never counted.
void RuleKeeper::prepare(const std::shared_ptr<const rules::RuleSet>& set, std::uint64_t /*version*/) {
  std::vector<observe::LabelledRule> labelled;
  for (const rules::CompiledRule& rule : set->rules()) {
    if (rule.mode != Mode::off) labelled.push_back({rule.name.id, rule.name.ordinal});
  }
  labels_->update(labelled);
}

Status RuleKeeper::load() {
  Status status = success();
  if (!path_.empty()) {
    status = book_->load(path_, clock_.wall(), format_);
  } else {
    const Result<Rules> rules = rules::parse_rules(quickstart_rules(), "quickstart");
    if (!rules.ok()) return rules.failure();
    status = book_->replace(rules.value(), clock_.wall());
  }
  if (status.ok()) {
    tell_loaded();
  } else {
    log_.error("rules_rejected", "invalid rules", {{"path", path_.string()}, {"error", status.failure().message}});
  }
  return status;
}

Status RuleKeeper::reload() {
  if (path_.empty()) {
    log_.info("rules_unchanged", "the quickstart rules have no file to read again");
    return success();
  }
  return read_again(Why::asked);
}

void RuleKeeper::poll() {
  book_->release_unused();
  if (!watch_) return;
  const bool changed = watch_->changed();
  if (!changed) {
    const std::lock_guard lock(mutex_);
    if (!retry_at_ || clock_.now() < *retry_at_) return;
  }
  // A failure is logged and counted.
  static_cast<void>(read_again(changed ? Why::changed : Why::retried));
}

Status RuleKeeper::read_again(Why why) {
  const std::lock_guard lock(mutex_);
  const Result<rules::LoadEffect> loaded = book_->reload(clock_.wall());
  Status status = loaded.ok() ? success() : Status(loaded.failure());
  plan_retry(status, why);
  if (!status.ok()) {
    if (told_.is_news(status.failure().message, book_->last_read()) || why == Why::asked) {
      tell_refused(status.failure());
    }
  } else if (loaded.value() == rules::LoadEffect::replaced) {
    tell_loaded();
  } else if (why == Why::asked) {
    log_.info("rules_unchanged", "the rules in the file are loaded already", {{"path", path_.string()}});
  }
  return status;
}

void RuleKeeper::plan_retry(const Status& status, Why why) {
  retry_at_.reset();
  wait_ = why == Why::retried ? std::min(2 * wait_, kLastRetry) : kFirstRetry;
  if (!status.ok() && may_pass(status.failure())) retry_at_ = clock_.now() + wait_;
  retrying_.store(retry_at_.has_value(), std::memory_order_relaxed);
}

void RuleKeeper::tell_loaded() {
  told_.forget();
  log_.info("rules_loaded", "rules loaded",
            {{"rules", book_->current()->rules().size()}, {"path", path_.empty() ? "quickstart" : path_.string()}});
  if (const std::uint64_t others = labels_->table()->without_label; others > 0) {
    log_.warn("rules_without_label",
              "too many rules for a metric of each: these are counted together as rule=\"other\"",
              {{"rules", others}, {"labels", observe::kMaxRuleLabels}});
  }
}

void RuleKeeper::tell_refused(const Failure& failure) {
  if (retry_at_) {
    log_.error("rules_rejected", "rules could not be read, trying again; the last good ones stay loaded",
               {{"path", path_.string()}, {"error", failure.message}, {"retry_ms", ceil_ms(wait_)}});
  } else {
    log_.error("rules_rejected", "invalid rules; the last good ones stay loaded",
               {{"path", path_.string()}, {"error", failure.message}});
  }
}

}  // namespace weir::server
