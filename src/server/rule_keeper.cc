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
  Status status = success();
  if (!path_.empty()) {
    status = book_->load(path_, clock_.now(), format_);
  } else {
    const Result<Rules> rules = rules::parse_rules(quickstart_rules(), "quickstart");
    if (!rules.ok()) return rules.failure();
    status = book_->replace(rules.value(), clock_.now());
  }
  status.ok() ? tell_loaded() : tell_refused(status.failure(), "rules do not hold up");
  return status;
}

Status RuleKeeper::reload() {
  if (path_.empty()) {
    log_.info("rules_unchanged", "the quickstart rules have no file to read again");
    return success();
  }
  return read_again(/*asked=*/true);
}

void RuleKeeper::poll() {
  // A failure is told and counted; the next change is the next attempt.
  if (watch_ && watch_->changed()) static_cast<void>(read_again(/*asked=*/false));
}

Status RuleKeeper::read_again(bool asked) {
  const std::uint64_t seen = contents();
  Status status = book_->reload(clock_.now());
  if (status.ok()) {
    tell_loaded();
  } else if (told_.is_news(status.failure().message, seen) || asked) {
    tell_refused(status.failure(), "rules do not hold up: the last good ones stay");
  }
  return status;
}

void RuleKeeper::tell_loaded() {
  told_.forget();
  log_.info("rules_loaded", "rules are in force",
            {{"rules", book_->current()->rules().size()}, {"path", path_.empty() ? "quickstart" : path_.string()}});
}

void RuleKeeper::tell_refused(const Failure& failure, std::string_view message) {
  log_.error("rules_rejected", message, {{"path", path_.string()}, {"error", failure.message}});
}

// Asked for before the files are read: if they change in between, the watch finds other contents and speaks.
std::uint64_t RuleKeeper::contents() const {
  const auto files = rules::list_rules_files(path_);
  return files.ok() ? hash_of_contents(files.value()) : 0;
}

}  // namespace weir::server
