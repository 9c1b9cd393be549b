#include "server/identity_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::server {
namespace {

using testing::HasSubstr;

std::string fault(const Config& config) {
  const auto options = identity_options(config, {});
  return options.ok() ? "" : options.failure().message;
}

TEST(IdentitySettings, ReadsRoutesTiersAndTraffic) {
  Config config;
  config.identity_tiers = {{"ip_subnet", "24/48"}};
  config.identity_routes = {{"GET /v1/items/{id}", "item.read 3"}, {"ANY  *", "other"}};
  config.identity_traffic = {{"test", "x-test"}, {"service", "x-service=billing"}};
  const identity::IdentityOptions options = identity_options(config, {}).value();
  EXPECT_EQ(options.tiers.at(0).ipv4_prefix, 24);
  EXPECT_EQ(options.tiers[0].ipv6_prefix, 48);
  EXPECT_EQ(options.routes.at(0).method, "GET");
  EXPECT_EQ(options.routes[0].pattern, "/v1/items/{id}");
  EXPECT_EQ(options.routes[0].action, "item.read");
  EXPECT_EQ(options.routes[0].cost, 3);
  EXPECT_EQ(options.routes.at(1).method, "*");
  EXPECT_EQ(options.routes[1].pattern, "*");
  EXPECT_EQ(options.routes[1].cost, 1);
  EXPECT_EQ(options.marks.at(0).value, "");
  EXPECT_EQ(options.marks.at(1).header, "x-service");
  EXPECT_EQ(options.marks[1].value, "billing");
}

TEST(IdentitySettings, ReadsHowPathsAreCompared) {
  Config config;
  identity::PathOptions paths = identity_options(config, {}).value().paths;
  EXPECT_FALSE(paths.case_sensitive);
  EXPECT_EQ(paths.trailing_slash, identity::TrailingSlash::ignore);
  EXPECT_EQ(paths.encoded_slash, identity::EncodedSlash::refuse);
  config.identity_case_sensitive = true;
  config.identity_trailing_slash = "strict";
  config.identity_encoded_slash = "keep";
  paths = identity_options(config, {}).value().paths;
  EXPECT_TRUE(paths.case_sensitive);
  EXPECT_EQ(paths.trailing_slash, identity::TrailingSlash::strict);
  EXPECT_EQ(paths.encoded_slash, identity::EncodedSlash::keep);
}

TEST(IdentitySettings, NamesThatAreNotGivenKeepTheirDefaults) {
  Config config;
  config.identity_jwt_header = "authorization";
  identity::SentNameLists names = identity_options(config, {}).value().names;
  EXPECT_THAT(names.ip, testing::Contains("remote_address"));
  EXPECT_THAT(names.api_key, testing::Contains("x-api-key"));
  EXPECT_THAT(names.token, testing::ElementsAre("authorization", "jwt", "token"));
  config.identity_jwt_header = "x-token";
  EXPECT_THAT(identity_options(config, {}).value().names.token, testing::ElementsAre("x-token", "jwt", "token"));
  config.identity_names = {{"ip", "caller|client"}, {"token", "authorization"}, {"api_key", "off"}};
  config.places = {{"identity.names", "weir.yaml:1:1"}};
  names = identity_options(config, {}).value().names;
  EXPECT_THAT(names.ip, testing::ElementsAre("caller", "client"));
  EXPECT_THAT(names.token, testing::ElementsAre("authorization"));
  EXPECT_THAT(names.api_key, testing::IsEmpty());
  for (const char* text : {"|", "a||b", "|a", "a|"}) {
    config.identity_names = {{"ip", text}};
    EXPECT_THAT(identity_options(config, {}).value().names.ip, testing::Contains("")) << text;
  }
}

TEST(IdentitySettings, KnowsWhereItApplies) {
  Config config;
  config.identity_apply = {"http"};
  EXPECT_TRUE(identity_applies(config, "http"));
  EXPECT_FALSE(identity_applies(config, "grpc"));
  EXPECT_TRUE(identity_options(config, {}).value().takes_sent);
  config.identity_apply = {"forward-auth", "spop"};
  EXPECT_TRUE(check_identity_apply(config).ok());
  EXPECT_FALSE(identity_options(config, {}).value().takes_sent);
  config.identity_apply = {"grcp"};
  ASSERT_FALSE(check_identity_apply(config).ok());
  EXPECT_THAT(check_identity_apply(config).failure().message, HasSubstr("has the entry 'grcp' (did you mean grpc?)"));
}

TEST(IdentitySettings, RefusesEntriesThatCannotBeMeant) {
  for (const char* text : {"24", "33/48", "24/129", "-1/48", "24/-1", "24/48x", "/"}) {
    Config config;
    config.identity_tiers = {{"ip_subnet", text}};
    EXPECT_THAT(fault(config), HasSubstr("identity.tiers.ip_subnet")) << text;
  }
  for (const char* text : {"a -1", "a x", "a 1 2", "a 99999999999999999999"}) {
    Config config;
    config.identity_routes = {{"GET /a", text}};
    EXPECT_THAT(fault(config), HasSubstr("identity.routes.GET /a: is '")) << text;
  }
  Config config;
  config.identity_routes = {{"GET", "a"}};
  EXPECT_THAT(fault(config), HasSubstr("identity.routes.GET"));
}

}  // namespace
}  // namespace weir::server
