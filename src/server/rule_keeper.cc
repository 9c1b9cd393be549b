#include "server/rule_keeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "admin/rule_text.h"
#include "base/ascii.h"
#include "rules/read/rules_file.h"
#include "server/quickstart.h"

namespace weir::server {
namespace {

// For each load. `weir rules validate` prints the rest.
constexpr std::size_t kMaxWarningLines = 20;

// An error of the system, not of the rules. A file that is missing or forbidden is not tried again: the watch notices
// when that changes.
bool is_temporary(const Failure& failure) { return failure.code == Code::unavailable; }

// "tenant+ip"; "all" for a rule with one bucket. At most so long, however many attributes there are.
std::string subject_kind(const Rule& rule) {
  constexpr std::size_t kLongest = 64;
  std::string kind;
  for (const std::string& each : rule.per) kind += (kind.empty() ? "" : "+") + each;
  if (kind.size() > kLongest) kind = std::to_string(rule.per.size()) + " attributes";
  return kind.empty() ? "all" : kind;
}

// A bit for each reason that a denial by the rule may have.
std::uint32_t denial_reasons(const Rule& rule) {
  const auto bit = [](Reason reason) { return 1U << static_cast<unsigned>(reason); };
  std::uint32_t reasons = bit(Reason::cost_too_large) | bit(Reason::too_many_reservations);
  reasons |= bit(rule.kind == ChargeKind::quota   ? Reason::quota_exceeded
                 : rule.kind == ChargeKind::lease ? Reason::concurrency_exceeded
                                                  : Reason::limit_exceeded);
  reasons |= bit(Reason::store_unavailable);
  if (rule.penalty) reasons |= bit(Reason::penalized) | bit(Reason::challenge);
  return reasons;
}

}  // namespace

RuleKeeper::RuleKeeper(std::filesystem::path path, Clock& clock, observe::Log& log, rules::RulesFormat format)
    : path_(std::move(path)), format_(format), clock_(clock), log_(log), book_(std::make_shared<rules::RuleBook>()) {
  book_->keep_replaced();
  book_->add_user(*this);
  if (has_file()) watch_.emplace(path_);
}

RuleKeeper::~RuleKeeper() { book_->remove_user(*this); }

// Rules that are off are never counted.
void RuleKeeper::prepare(const rules::LoadedRules& loaded, std::uint64_t /*version*/) {
  std::vector<observe::LabelledRule> labelled;
  const auto may_count = [](const rules::CompiledRule& rule) {
    const auto has_mode = [](const Override& override) { return override.mode.has_value(); };
    return rule.mode != Mode::off || std::any_of(rule.source.overrides.begin(), rule.source.overrides.end(), has_mode);
  };
  for (const rules::CompiledRule& rule : loaded.set->rules()) {
    if (!may_count(rule)) continue;
    labelled.push_back({.id = rule.name.id,
                        .ordinal = rule.name.ordinal,
                        .subject = subject_kind(rule.source),
                        .algorithm = admin::algorithm_of(rule.source),
                        .reasons = denial_reasons(rule.source),
                        .shares = rule.source.max_subjects.has_value()});
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
    log_own_loaded();
  } else {
    log_.error("rules_rejected", "invalid rules", {{"path", path_.string()}, {"error", status.failure().message}});
  }
  return status;
}

Status RuleKeeper::replace(rules::SourceTexts texts, const std::string& source) {
  const std::lock_guard lock(mutex_);
  Status replaced = book_->replace_texts(std::move(texts), source, clock_.wall());
  if (replaced.ok()) {
    log_loaded(source);
  } else {
    log_.error("rules_rejected", "invalid rules; the last good ones stay loaded",
               {{"path", source}, {"error", replaced.failure().message}});
  }
  return replaced;
}

Status RuleKeeper::reload() {
  if (!has_file()) {
    log_.info("rules_unchanged", "these rules have no file to read again");
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
    if (last_rejection_.is_news(status.failure().message, book_->last_read()) || why == Why::asked) {
      log_rejected(status.failure());
    }
  } else if (loaded.value() == rules::LoadEffect::replaced) {
    log_own_loaded();
  } else if (why == Why::asked) {
    log_.info("rules_unchanged", "the rules in the file are loaded already", {{"path", path_.string()}});
  }
  return status;
}

void RuleKeeper::plan_retry(const Status& status, Why why) {
  retry_at_.reset();
  wait_ = why == Why::retried ? std::min(2 * wait_, kLastRetry) : kFirstRetry;
  if (!status.ok() && is_temporary(status.failure())) retry_at_ = clock_.now() + wait_;
  retrying_.store(retry_at_.has_value(), std::memory_order_relaxed);
}

void RuleKeeper::log_loaded(const std::string& source) {
  last_rejection_.forget();
  const std::shared_ptr<const rules::RuleSet> active = book_->current();
  const std::string hash = base::hex_text(active->told_hash());
  log_.info("rules_loaded", "rules loaded",
            {{"rules", active->rules().size()}, {"path", source}, {"version", active->told_version()}, {"hash", hash}});
  const std::vector<std::string> warnings = book_->warnings();
  for (std::size_t i = 0; i < std::min(warnings.size(), kMaxWarningLines); ++i) {
    log_.warn("rules_warning", warnings[i]);
  }
  if (warnings.size() > kMaxWarningLines) {
    log_.warn("rules_warning", "more warnings: run weir rules validate to see them all",
              {{"warnings", warnings.size() - kMaxWarningLines}});
  }
  if (const std::uint64_t others = labels_->table()->without_label; others > 0) {
    log_.warn("rules_without_label",
              "too many rules for metrics of their own: these are counted together as rule=\"other\"",
              {{"rules", others}, {"labels", observe::kMaxRuleLabels}});
  }
  if (on_loaded_) on_loaded_();
}

void RuleKeeper::log_rejected(const Failure& failure) {
  if (retry_at_) {
    log_.error("rules_rejected", "rules could not be read, trying again; the last good ones stay loaded",
               {{"path", path_.string()}, {"error", failure.message}, {"retry_ms", ceil_ms(wait_)}});
  } else {
    log_.error("rules_rejected", "invalid rules; the last good ones stay loaded",
               {{"path", path_.string()}, {"error", failure.message}});
  }
}

}  // namespace weir::server
