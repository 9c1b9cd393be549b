#include "server/rule_keeper.h"

#include <utility>

#include "rules/rules_file.h"
#include "server/quickstart.h"

namespace weir::server {

RuleKeeper::RuleKeeper(std::filesystem::path path, Clock& clock, observe::Log& log, rules::AllowanceCheck supported,
                       rules::RulesFormat format)
    : path_(std::move(path)),
      format_(format),
      clock_(clock),
      log_(log),
      book_(std::make_shared<rules::RuleBook>(std::move(supported))) {
  if (!path_.empty()) watch_.emplace(path_);
}

Status RuleKeeper::load() {
  if (!path_.empty()) return report(book_->load(path_, clock_.now(), format_));
  const Result<Rules> rules = rules::parse_rules(quickstart_rules(), "quickstart");
  if (!rules.ok()) return rules.failure();
  return report(book_->replace(rules.value(), clock_.now()));
}

Status RuleKeeper::reload() {
  if (path_.empty()) {
    log_.info("rules_unchanged", "the quickstart rules have no file to read again");
    return success();
  }
  return report(book_->reload(clock_.now()));
}

void RuleKeeper::poll() {
  // A failure is logged and counted; the next change is the next attempt.
  if (watch_ && watch_->changed()) static_cast<void>(reload());
}

Status RuleKeeper::report(Status status) {
  const std::string from = path_.empty() ? "quickstart" : path_.string();
  if (status.ok()) {
    log_.info("rules_loaded", "rules are in force", {{"rules", book_->current()->rules().size()}, {"path", from}});
  } else {
    log_.error("rules_rejected", "rules do not hold up", {{"path", from}, {"error", status.failure().message}});
  }
  return status;
}

}  // namespace weir::server
