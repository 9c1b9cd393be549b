#include "server/modules/database_module.h"

#include <future>
#include <utility>

#include "server/migrations.h"

namespace weir::server {
namespace {

using database::Location;

// How long a start waits for PostgreSQL before it goes on without.
constexpr std::chrono::milliseconds kMigrationPatience{5000};
constexpr Duration kRetryPeriod = std::chrono::seconds(1);

bool is_database_away(const Failure& failure) {
  return failure.code == Code::unavailable || failure.code == Code::deadline_exceeded;
}

}  // namespace

Status DatabaseModule::open() {
  const Config& config = context_.config;
  if (config.database == kOff) return success();
  if (Status opened = open_folder(); !opened.ok()) return opened;
  if (!folder_) return success();
  const Result<Location> location = database::parse_location(config.database, folder_->path());
  if (!location.ok()) return location.failure();
  database_ = database::make_database(location.value());
  const Status migrated = migrate();
  if (migrated.ok()) {
    become_ready();
    return success();
  }
  const Failure& failure = migrated.failure();
  if (location.value().kind != Location::Kind::postgres || !is_database_away(failure)) {
    return Failure{failure.code, "database: " + location.value().shown + ": " + failure.message};
  }
  context_.log.warn("database_away", "the database does not answer; the server starts with its local copy",
                    {{"database", location.value().shown}, {"error", failure.message}});
  return success();
}

// Leaves folder_ empty where there is none and none was asked for.
Status DatabaseModule::open_folder() {
  const Config& config = context_.config;
  const bool explicitly = !place_of(config, "data_dir").empty() || !place_of(config, "database").empty();
  Failure failure{Code::invalid_argument,
                  "data_dir: is not set, and neither is STATE_DIRECTORY, XDG_STATE_HOME or HOME"};
  if (!config.data_dir.empty()) {
    Result<DataFolder> folder = DataFolder::open(config.data_dir);
    if (folder.ok()) {
      folder_.emplace(std::move(folder).value());
      return success();
    }
    failure = folder.failure();
  }
  if (explicitly || failure.code == Code::already_exists || rules_in_database(config)) return failure;
  context_.log.warn("no_database", "running without a database: no tokens, audit trail, rule versions or quotas",
                    {{"cause", failure.message}, {"set", "data_dir, or database: off"}});
  return success();
}

database::Task DatabaseModule::migration() {
  const auto done = std::make_shared<std::vector<database::Migration>>();
  const auto work = [done, now = context_.clock->wall()](database::Session& session) -> Status {
    Result<std::vector<database::Migration>> ran = database::migrate(session, all_migrations(), now);
    if (!ran.ok()) return ran.failure();
    *done = std::move(ran).value();
    return success();
  };
  const auto log = [this, done](const database::Outcome& outcome) {
    if (!outcome.ok() || done->empty()) return;
    std::string names;
    for (const database::Migration& each : *done) {
      names += (names.empty() ? "" : ", ") + std::string(each.component) + " " + std::to_string(each.version);
    }
    context_.log.info("database_migrated", "brought the tables up to date",
                      {{"database", database_->shown_name()}, {"migrations", names}});
  };
  return {database::Access::write, work, log, std::chrono::steady_clock::now() + kMigrationPatience};
}

Status DatabaseModule::migrate() {
  database::Task task = migration();
  std::promise<Status> ended;
  task.done = [&ended, log = std::move(task.done)](const database::Outcome& outcome) {
    log(outcome);
    ended.set_value(outcome.status);
  };
  if (Status queued = database_->submit(std::move(task)); !queued.ok()) return queued;
  return ended.get_future().get();
}

Status DatabaseModule::start() {
  if (database_ == nullptr) return success();
  if (!is_ready()) context_.add_task(kRetryPeriod, [this] { try_again(); });
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  context_.add_health([this](HealthDetails& details) { add_health(details); });
  return success();
}

void DatabaseModule::stop() {
  if (database_ != nullptr) database_->stop();
}

void DatabaseModule::try_again() {
  if (is_ready()) return;
  if (migrated_.load(std::memory_order_acquire)) {
    context_.log.info("database_back", "the database answers", {{"database", database_->shown_name()}});
    become_ready();
    return;
  }
  if (trying_.exchange(true)) return;
  database::Task task = migration();
  task.done = [this, log = std::move(task.done)](const database::Outcome& outcome) {
    log(outcome);
    if (outcome.ok()) {
      migrated_.store(true, std::memory_order_release);
    } else {
      note_trouble(outcome.status.failure());
    }
    trying_.store(false);
  };
  if (!database_->submit(std::move(task)).ok()) trying_.store(false);
}

void DatabaseModule::note_trouble(const Failure& failure) {
  const std::lock_guard lock(mutex_);
  if (trouble_ == failure.message) return;
  trouble_ = failure.message;
  if (!is_database_away(failure)) {
    context_.log.error("database_unusable", failure.message, {{"database", database_->shown_name()}});
  }
}

void DatabaseModule::when_ready(std::function<void()> call) {
  if (database_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (!is_ready()) {
      waiting_.push_back(std::move(call));
      return;
    }
  }
  call();
}

void DatabaseModule::become_ready() {
  std::vector<std::function<void()>> waiting;
  {
    const std::lock_guard lock(mutex_);
    ready_.store(true, std::memory_order_release);
    trouble_.clear();
    waiting.swap(waiting_);
  }
  for (const std::function<void()>& call : waiting) call();
}

std::string_view DatabaseModule::kind() const {
  if (database_ == nullptr) return kOff;
  return database_->dialect() == database::Dialect::sqlite ? "sqlite" : "postgres";
}

void DatabaseModule::add_facts(observe::Facts& facts) const {
  using Kind = observe::FactMetric::Kind;
  const database::Health health = database_->health();
  const auto add = [&](std::string_view name, std::string_view help, Kind metric, double value) {
    facts.more.push_back({name, help, metric, value, {}});
  };
  add("weir_database_connected", "1 if the database answered last, 0 if it could not be reached.", Kind::gauge,
      health.connected && is_ready() ? 1 : 0);
  add("weir_database_queued_transactions", "Transactions that wait for a database thread.", Kind::gauge,
      static_cast<double>(health.queued));
  add("weir_database_lag_seconds", "How long the oldest unfinished transaction has waited.", Kind::gauge,
      static_cast<double>(health.lag.count()) / 1e6);
  constexpr std::string_view kTransactions = "weir_database_transactions_total";
  constexpr std::string_view kHelp =
      "Transactions, by result; unknown: the connection was lost before the answer to the commit.";
  const std::pair<const char*, std::uint64_t> results[] = {
      {"committed", health.transactions}, {"failed", health.failures}, {"unknown", health.unknown}};
  for (const auto& [result, count] : results) {
    facts.more.push_back({kTransactions, kHelp, Kind::counter, static_cast<double>(count), {{"result", result}}});
  }
  add("weir_database_repeated_transactions_total",
      "Attempts beyond the first, because of a conflict with another transaction or a lost connection.", Kind::counter,
      static_cast<double>(health.repeated));
}

void DatabaseModule::add_health(HealthDetails& details) const {
  const database::Health health = database_->health();
  const bool good = health.connected && is_ready();
  std::string members = "\"kind\":\"" + std::string(kind()) + "\",\"connected\":" + (good ? "true" : "false");
  if (details.for_operators() && !good) {
    const std::lock_guard lock(mutex_);
    members += error_member(health.trouble.empty() ? trouble_ : health.trouble);
  }
  details.add_section("database", members);
}

}  // namespace weir::server
