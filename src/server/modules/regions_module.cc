#include "server/modules/regions_module.h"

#include <random>

#include "base/ascii.h"
#include "database/location.h"
#include "database/migration.h"
#include "regions/regional_store.h"
#include "server/migrations.h"
#include "server/redis_settings.h"
#include "server/region_settings.h"

namespace weir::server {
namespace {

constexpr double kMillion = 1e6;

// A node that restarts does not know what it held before.
std::string life_of(const std::string& node) {
  std::random_device random;
  std::string digits(16, '0');
  base::write_hex(digits.data(), (std::uint64_t{random()} << 32U) | random());
  return node + "/" + digits;
}

}  // namespace

Status RegionsModule::open() {
  rules_.book()->accept_only([this](const Rules& rules) { return accept_region_rules(context_.config, rules); });
  if (Status opened = open_homes(); !opened.ok()) return opened;
  return open_coordinator();
}

Status RegionsModule::open_homes() {
  for (const NamedText& home : context_.config.region_homes) {
    if (home.name == context_.config.region_name) continue;
    const Result<redis::RedisOptions> options = home_redis_options(context_.config, home.text);
    if (!options.ok()) return options.failure();
    Result<std::unique_ptr<RedisStores>> stores =
        RedisStores::open(*context_.loops, options.value(), context_.log, false);
    if (!stores.ok()) return stores.failure();
    homes_.emplace_back(home.name, std::move(stores).value());
  }
  return success();
}

Status RegionsModule::open_coordinator() {
  const Config& config = context_.config;
  if (config.region_coordinator.empty()) return success();
  const Result<database::Location> location = database::parse_location(config.region_coordinator, {});
  if (!location.ok()) return location.failure();
  database_ = database::make_database(location.value());
  regions::BookOptions book;
  book.map = region_map(config);
  book.node = life_of(tools_.node());
  book.lease = config.region_lease;
  book.max_keys = static_cast<std::size_t>(config.region_max_keys);
  book.urgent = [this] { coordinator_->urgent(); };
  book_ = std::make_shared<regions::RegionBook>(std::move(book));
  regions::CoordinatorOptions options;
  options.lease = config.region_lease;
  options.sync = config.region_sync;
  options.clock = context_.clock;
  options.prepare = [this](database::Database& database) -> Status {
    const auto ran = database::migrate(database, all_migrations(), context_.clock->wall());
    return ran.ok() ? success() : Status(ran.failure());
  };
  options.on_away = [this](const Failure& failure) {
    context_.log.warn("region_coordinator_away",
                      "the coordinator of the regions does not answer: shares fall to the floor when their leases end",
                      {{"database", database_->shown_name()}, {"error", failure.message}});
  };
  options.on_back = [this] {
    context_.log.info("region_coordinator_back", "the coordinator of the regions answers",
                      {{"database", database_->shown_name()}});
  };
  coordinator_ = std::make_unique<regions::Coordinator>(*database_, *book_, std::move(options));
  return success();
}

Status RegionsModule::start() {
  if (coordinator_ == nullptr) return success();
  coordinator_->start();
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  context_.add_health([this](HealthDetails& details) { add_health(details); });
  return success();
}

void RegionsModule::stop() {
  if (coordinator_ != nullptr) coordinator_->stop();
  if (database_ != nullptr) database_->stop();
  for (const auto& [name, stores] : homes_) stores->close();
}

std::shared_ptr<Store> RegionsModule::decorate(std::size_t loop, std::shared_ptr<Store> store) const {
  if (book_ == nullptr && homes_.empty()) return store;
  regions::RegionalOptions options;
  options.store = std::move(store);
  options.region = context_.config.region_name;
  for (const auto& [name, stores] : homes_) options.homes.emplace_back(name, stores->store(loop));
  options.book = book_;
  options.clock = context_.clock;
  return std::make_shared<regions::RegionalStore>(std::move(options));
}

void RegionsModule::add_facts(observe::Facts& facts) const {
  using Kind = observe::FactMetric::Kind;
  const auto add = [&facts](std::string_view name, Kind kind, double value, const std::string& rule) {
    std::vector<std::pair<std::string_view, std::string>> labels;
    if (!rule.empty()) labels.emplace_back("rule", rule);
    facts.more.push_back({name, "", kind, value, std::move(labels)});
  };
  for (const regions::RegionBook::RuleFigures& each : book_->figures(context_.clock->now())) {
    add("weir_region_keys", Kind::gauge, static_cast<double>(each.keys), each.rule);
    add("weir_region_denied_total", Kind::counter, static_cast<double>(each.denied), each.rule);
    if (each.share > 0) {
      add("weir_region_share_ratio", Kind::gauge, static_cast<double>(each.share) / kMillion, each.rule);
    }
  }
  const std::optional<Duration> age = coordinator_->age();
  add("weir_region_coordinator_age_seconds", Kind::gauge, age ? static_cast<double>(age->count()) / kMillion : -1.0,
      {});
  add("weir_region_coordinator_connected", Kind::gauge, coordinator_->connected() ? 1 : 0, {});
}

void RegionsModule::add_health(HealthDetails& details) const {
  const std::optional<Duration> age = coordinator_->age();
  std::string members = "\"connected\":" + std::string(coordinator_->connected() ? "true" : "false");
  members += ",\"learning\":" + std::string(coordinator_->learning() ? "true" : "false");
  members += ",\"age_ms\":" + (age ? std::to_string(ceil_ms(*age)) : std::string("null"));
  if (details.for_operators()) {
    const std::string trouble = database_->health().trouble;
    if (!coordinator_->connected() && !trouble.empty()) members += error_member(trouble);
  }
  details.add_section("regions", members);
}

}  // namespace weir::server
