#include "server/region_settings.h"

#include <algorithm>
#include <string>

#include "database/postgres/postgres_url.h"
#include "server/redis_settings.h"
#include "stores/redis/url.h"

namespace weir::server {
namespace {

constexpr std::string_view kNameForm = "expected at most 64 letters, digits, '.', '_' and '-'";

Failure wrong(const Config& config, std::string_view setting, const std::string& what) {
  const std::string_view place = place_of(config, setting);
  std::string message = place.empty() ? std::string() : std::string(place) + ": ";
  return {Code::invalid_argument, message.append(setting).append(": ").append(what)};
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_names(const Config& config) {
  const std::vector<std::string>& names = config.region_names;
  for (const std::string& name : names) {
    if (name.empty() || !redis::is_namespace(name)) {
      return wrong(config, "region.names", "has '" + name + "', " + std::string(kNameForm));
    }
    if (std::count(names.begin(), names.end(), name) > 1) {
      return wrong(config, "region.names", "has '" + name + "' twice");
    }
  }
  if (names.size() > regions::kMaxRegions) {
    return wrong(
        config, "region.names",
        "has " + std::to_string(names.size()) + " entries, expected at most " + std::to_string(regions::kMaxRegions));
  }
  if (!names.empty() && !contains(names, config.region_name)) {
    return wrong(config, "region.names", "does not have '" + config.region_name + "', which is region.name");
  }
  return success();
}

Status check_coordinator(const Config& config) {
  if (config.region_coordinator.empty()) return success();
  const auto fault = [&](const std::string& what) { return wrong(config, "region.coordinator", what); };
  if (!database::is_postgres_url(config.region_coordinator)) return fault("expected postgres://USER@HOST/DATABASE");
  const Result<std::string> shown = database::shown_postgres_url(config.region_coordinator);
  if (!shown.ok()) return fault(shown.failure().message);
  if (config.region_names.size() < 2) {
    return fault("needs region.names: the names of all regions, the same list in each, as in region.names: [eu, us]");
  }
  return success();
}

Status check_homes(const Config& config) {
  for (const NamedText& home : config.region_homes) {
    const std::string setting = "region.homes." + home.name;
    if (!redis::is_namespace(home.name)) return wrong(config, setting, std::string(kNameForm));
    const Result<redis::RedisOptions> options = redis::parse_redis_url(home.text);
    if (!options.ok()) return wrong(config, setting, options.failure().message);
  }
  return success();
}

// Keys that differ would make each region count by itself.
Status check_shared(const Config& config) {
  const bool shares = !config.region_coordinator.empty() || !config.region_homes.empty();
  if (!shares) return success();
  const std::string_view setting = config.region_coordinator.empty() ? "region.homes" : "region.coordinator";
  if (config.region_name.empty()) return wrong(config, setting, "needs region.name: the region that this node is in");
  if (!uses_redis(config)) return wrong(config, setting, "needs store: redis://…, which the nodes of a region share");
  if (config.hash_key_file.empty()) {
    return wrong(config, setting, "needs hash_key_file: the same secret in all regions, or each would count by itself");
  }
  return success();
}

bool has_home(const Config& config, const std::string& home) {
  return home == config.region_name || std::any_of(config.region_homes.begin(), config.region_homes.end(),
                                                   [&](const NamedText& each) { return each.name == home; });
}

}  // namespace

Status check_region_settings(const Config& config) {
  if (!config.region_name.empty() && !redis::is_namespace(config.region_name)) {
    return wrong(config, "region.name", "is '" + config.region_name + "', " + std::string(kNameForm));
  }
  if (Status status = check_names(config); !status.ok()) return status;
  if (Status status = check_coordinator(config); !status.ok()) return status;
  if (Status status = check_homes(config); !status.ok()) return status;
  return check_shared(config);
}

regions::RegionMap region_map(const Config& config) {
  regions::RegionMap map;
  map.names = config.region_names;
  const auto own = std::find(map.names.begin(), map.names.end(), config.region_name);
  map.own = static_cast<std::size_t>(own - map.names.begin());
  return map;
}

Status accept_region_rules(const Config& config, const Rules& rules) {
  for (const Rule& rule : rules.rules) {
    if (rule.region == RegionSharing::none) continue;
    const auto refused = [&rule](const std::string& why) {
      return Failure{Code::failed_precondition, "rule " + rule.id + ": region: " + why};
    };
    if (rule.region != RegionSharing::central) {
      const auto regions = static_cast<std::int64_t>(config.region_names.size());
      const std::int64_t tolerance = rule.tolerance.value_or(Share{5, true}).of(rule.allowance.limit);
      if (rule.region == RegionSharing::reconcile && tolerance < regions && !config.region_coordinator.empty()) {
        return refused("reconcile with a tolerance of " + std::to_string(tolerance) + " units for " +
                       std::to_string(regions) + " regions, expected at least one for each; use central");
      }
      if (!config.region_coordinator.empty()) continue;
      return refused(
          "shares its limit with other regions, and this server has no coordinator; set region.coordinator, "
          "region.name and region.names, as in region: {name: eu, names: [eu, us], coordinator: "
          "postgres://…}");
    }
    if (config.region_name.empty()) return refused("central needs region.name: the region that this node is in");
    if (!has_home(config, rule.home)) {
      return refused("its home is '" + rule.home +
                     "', whose Redis this server does not know; set region.homes, as in "
                     "region: {homes: {" +
                     rule.home + ": rediss://…}}");
    }
  }
  return success();
}

}  // namespace weir::server
