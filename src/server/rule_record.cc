#include "server/rule_record.h"

#include <utility>

#include "admin/json_writer.h"
#include "base/ascii.h"
#include "control/audit_trail.h"
#include "control/change_log.h"
#include "rules/read/rules_format.h"
#include "rules/read/rules_text.h"
#include "server/quickstart.h"

namespace weir::server {
namespace {

using control::RuleVersion;

// Where versions of files are serialized: nodes that read the same new file at the same time record it once.
constexpr std::string_view kHistoryTopic = "rules_history";

std::string note_of(const RuleVersion& version) {
  admin::JsonWriter out;
  out.begin_object();
  out.member("version", version.version);
  out.member("hash", version.hash);
  out.member("rules", version.rules);
  out.member("source", version.source);
  out.end_object();
  return out.take();
}

// hash_of_rules() as a number.
std::uint64_t hash_number(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char digit : digits) number = number << 4U | static_cast<std::uint64_t>(base::hex_digit(digit));
  return number;
}

// Records a version unless it is what was recorded last. Sets its number.
Status add_unless_latest(database::Session& session, RuleVersion& version) {
  if (Status noted = control::note_change(session, kHistoryTopic); !noted.ok()) return noted;
  const auto latest = control::latest_rule_version(session, version.source);
  if (!latest.ok()) return latest.failure();
  if (latest.value() && latest.value()->hash == version.hash) {
    version.version = latest.value()->version;
    return success();
  }
  const Result<std::int64_t> number = control::add_rule_version(session, version);
  if (!number.ok()) return number.failure();
  version.version = number.value();
  return control::append(session, {.id = 0,
                                   .at = version.at,
                                   .actor = version.author,
                                   .from = "",
                                   .action = "rules.load",
                                   .object = "rules",
                                   .before = latest.value() ? note_of(*latest.value()) : "",
                                   .after = note_of(version),
                                   .reason = version.reason,
                                   .node = version.node});
}

}  // namespace

Result<std::string> RuleRecord::read(database::Session& session) {
  const auto latest = control::latest_rule_version(session, control::kDatabaseRules);
  if (!latest.ok()) return latest.failure();
  return latest.value() ? control::encode(*latest.value()) : std::string();
}

Status RuleRecord::apply(std::string_view text) {
  if (text.empty()) return success();
  Result<RuleVersion> version = control::decode_rule_version(text);
  if (!version.ok()) return version.failure();
  {
    const std::lock_guard lock(mutex_);
    if (version_ && version_->version == version.value().version) return success();
  }
  const std::string name = "database version " + std::to_string(version.value().version);
  const auto set_applying = [this](const RuleVersion* which) {
    const std::lock_guard lock(mutex_);
    applying_ = which;
  };
  set_applying(&version.value());
  const Status replaced = keeper_.replace({{name, version.value().text}}, name);
  set_applying(nullptr);
  if (!replaced.ok()) return replaced;
  const std::lock_guard lock(mutex_);
  version_ = std::move(version).value();
  return success();
}

bool RuleRecord::has_version() const {
  const std::lock_guard lock(mutex_);
  return version_.has_value();
}

std::string RuleRecord::text_of(const rules::RulesBase& base) const {
  if (context_.config.rules_path.empty() || rules_in_database(context_.config)) {
    return std::string(quickstart_rules());
  }
  if (base.texts.size() == 1 && base.format == rules::RulesFormat::weir) return base.texts.front().text;
  const auto read = rules::parse_rules(base.texts, base.source, base.format, context_.clock->wall());
  return read.ok() ? rules::write_rules(read.value().rules) : std::string();
}

std::shared_ptr<const rules::RulesStamp> RuleRecord::make_stamp(const rules::RulesBase& base, std::uint64_t number) {
  const std::string& path = context_.config.rules_path.string();
  const std::lock_guard lock(mutex_);
  loading_ = {.version = 0,
              .at = context_.clock->wall(),
              .author = path.empty() ? "weir" : "file",
              .reason = {},
              .node = tools_.node(),
              .source = path.empty() ? "built-in" : path,
              .hash = {},
              .rules = 0,
              .text = applying_ != nullptr ? applying_->text : text_of(base)};
  loading_.hash = control::hash_of_rules(loading_.text);
  if (has_database()) number = applying_ != nullptr ? static_cast<std::uint64_t>(applying_->version) : 0;
  stamp_ = std::make_shared<rules::RulesStamp>(hash_number(loading_.hash), number);
  prepared_ = false;
  return stamp_;
}

void RuleRecord::prepare(const rules::LoadedRules& loaded, std::uint64_t /*version*/) {
  RuleVersion version;
  {
    const std::lock_guard lock(mutex_);
    // What operators set has changed, not the rules; perhaps after a load that failed.
    if (prepared_ || loaded.set->told_hash() != stamp_->hash) return;
    prepared_ = true;
    loading_.rules = static_cast<std::int64_t>(loaded.set->rules().size());
    const bool is_file = !context_.config.rules_path.empty() && !rules_in_database(context_.config);
    // Those before it must be recorded first.
    if (!is_file || !has_database() || !tools_.databases().is_ready() || !pending_.empty()) return;
    version = loading_;
  }
  const database::Outcome recorded = tools_.environment().database->run(
      database::Access::write, [&version](database::Session& session) { return add_unless_latest(session, version); },
      kPatience);
  if (!recorded.ok()) return;
  const std::lock_guard lock(mutex_);
  loading_ = version;
  stamp_->number.store(static_cast<std::uint64_t>(version.version));
}

void RuleRecord::note_load() {
  {
    const std::lock_guard lock(mutex_);
    version_ = loading_;
    active_stamp_ = stamp_;
    version_->version = static_cast<std::int64_t>(stamp_->number.load());
    const bool is_recorded = version_->version != 0;
    if (!has_database() || context_.config.rules_path.empty() || is_recorded) return;
    if (pending_.size() == kMaxPending) pending_.pop_front();
    pending_.push_back({*version_, stamp_});
  }
  flush();
}

void RuleRecord::flush() {
  database::Database* const database = tools_.environment().database;
  if (database == nullptr || !tools_.databases().is_ready()) return;
  std::shared_ptr<Pending> next;
  {
    const std::lock_guard lock(mutex_);
    if (recording_ || pending_.empty()) return;
    recording_ = true;
    next = std::make_shared<Pending>(pending_.front());
  }
  const auto finish = [this, next](const database::Outcome& outcome) {
    {
      const std::lock_guard lock(mutex_);
      recording_ = false;
      if (!outcome.ok()) return;  // flush() is called again later
      pending_.pop_front();
      next->stamp->number.store(static_cast<std::uint64_t>(next->version.version));
      if (next->stamp == active_stamp_) version_ = next->version;
    }
    flush();
  };
  const Status queued = database->submit(
      {.access = database::Access::write,
       .work = [next](database::Session& session) { return add_unless_latest(session, next->version); },
       .done = finish});
  if (!queued.ok()) {
    const std::lock_guard lock(mutex_);
    recording_ = false;
  }
}

admin::ActiveRules RuleRecord::active() const {
  const Config& config = context_.config;
  admin::ActiveRules active;
  active.source = rules_in_database(config) ? "database" : config.rules_path.empty() ? "built-in" : "file";
  if (active.source == "file") active.path = config.rules_path.string();
  active.error = keeper_.book()->last_error();
  active.warnings = keeper_.book()->warnings();
  active.loaded = keeper_.book()->last_success();
  const std::lock_guard lock(mutex_);
  if (version_) {
    active.version = version_->version;
    active.hash = version_->hash;
    active.author = version_->author;
    active.reason = version_->reason;
    active.text = version_->text;
  } else {
    active.author = "weir";
    active.text = quickstart_rules();
    active.hash = control::hash_of_rules(active.text);
  }
  return active;
}

}  // namespace weir::server
