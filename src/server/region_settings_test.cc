#include "server/region_settings.h"

#include <gmock/gmock.h>

namespace weir::server {
namespace {

using testing::HasSubstr;

Config two_region_config() {
  Config config;
  config.store = "redis://127.0.0.1";
  config.hash_key_file = "hash_key";
  config.region_name = "eu";
  config.region_names = {"eu", "us"};
  config.region_coordinator = "postgres://weir@db/weir";
  return config;
}

std::string settings_fault(const Config& config) {
  const Status checked = check_region_settings(config);
  return checked.ok() ? "" : checked.failure().message;
}

std::string rule_fault(const Config& config, const Rule& rule) {
  const Status accepted = accept_region_rules(config, {.rules = {rule}});
  return accepted.ok() ? "" : accepted.failure().message;
}

TEST(RegionSettings, SayWhatIsMissing) {
  EXPECT_EQ(settings_fault(two_region_config()), "");
  Config config = two_region_config();
  config.hash_key_file.clear();
  EXPECT_THAT(settings_fault(config), HasSubstr("region.coordinator: needs hash_key_file"));
  config = two_region_config();
  config.store = "memory";
  EXPECT_THAT(settings_fault(config), HasSubstr("region.coordinator: needs store: redis://"));
  config = two_region_config();
  config.region_names = {"us", "ap"};
  EXPECT_THAT(settings_fault(config), HasSubstr("region.names: does not have 'eu', which is region.name"));
  config = two_region_config();
  config.region_names = {};
  EXPECT_THAT(settings_fault(config), HasSubstr("region.coordinator: needs region.names"));
  config = two_region_config();
  config.region_coordinator = "sqlite:weir.db";
  EXPECT_THAT(settings_fault(config), HasSubstr("region.coordinator: expected postgres://"));
  config = two_region_config();
  config.region_homes = {{"us", "http://x"}};
  EXPECT_THAT(settings_fault(config), HasSubstr("region.homes.us: "));
}

TEST(RegionSettings, RefuseRulesThatTheServerCannotKeep) {
  Rule rule;
  rule.id = "a";
  rule.allowance.limit = 1'000;
  rule.region = RegionSharing::slices;
  EXPECT_EQ(rule_fault(two_region_config(), rule), "");
  EXPECT_THAT(rule_fault(Config(), rule), HasSubstr("rule a: region: shares its limit with other regions"));
  rule.region = RegionSharing::central;
  rule.home = "ap";
  EXPECT_THAT(rule_fault(two_region_config(), rule), HasSubstr("its home is 'ap', whose Redis this server does not"));
  rule.home = "eu";
  EXPECT_EQ(rule_fault(two_region_config(), rule), "");
  rule.region = RegionSharing::reconcile;
  rule.allowance.limit = 20;
  EXPECT_THAT(rule_fault(two_region_config(), rule), HasSubstr("tolerance of 1 units for 2 regions"));
}

}  // namespace
}  // namespace weir::server
