#include "identity/option_check.h"

#include <gtest/gtest.h>

namespace weir::identity {
namespace {

std::string fault(const IdentityOptions& options) {
  const Status status = check_options(options);
  return status.ok() ? "" : status.failure().message;
}

IdentityOptions with_attribute(const char* name, const char* source) {
  IdentityOptions options;
  options.attributes = {{name, source}};
  return options;
}

TEST(OptionCheck, SourcesThatNoRequestCanHaveAreRefused) {
  EXPECT_EQ(fault(with_attribute("user", "header:x user")), "attributes.user: no header can have the name \"x user\"");
  EXPECT_EQ(fault(with_attribute("user", "gateway:x-user:")),
            "attributes.user: no header can have the name \"x-user:\"");
  EXPECT_EQ(fault(with_attribute("user", "header:X-User_2")), "");
  EXPECT_EQ(fault(with_attribute("item", "path:id")), "attributes.item: no route has {id}");
  IdentityOptions options = with_attribute("item", "path:id");
  options.routes = {{"GET", "/v1/{kind}/{id}", "read", 1}};
  EXPECT_EQ(fault(options), "");
}

TEST(OptionCheck, AMethodInSmallLettersWouldNeverMatch) {
  IdentityOptions options;
  options.routes = {{"get", "/v1/items", "read", 1}};
  EXPECT_EQ(fault(options), "routes.get /v1/items: has the method \"get\", expected one such as GET, or ANY");
  options.routes = {{"*", "/v1/items", "read", 1}, {"M-SEARCH", "/", "search", 1}};
  EXPECT_EQ(fault(options), "");
}

TEST(OptionCheck, ANameOccursInARouteOnce) {
  IdentityOptions options;
  options.routes = {{"GET", "/{id}", "a", 1}, {"*", "/{id}/of/{id}", "b", 1}};
  EXPECT_EQ(fault(options), "routes.ANY /{id}/of/{id}: has the same {name} twice");
}

TEST(OptionCheck, ListsNameWhatIsThere) {
  IdentityOptions options = with_attribute("session", "cookie:sid");
  options.accept_unverified = {"tenants"};
  EXPECT_EQ(fault(options), "accept_unverified: has the entry \"tenants\", expected tenant or plan");
  options.accept_unverified = {"plan", "tenant"};
  options.hashed = {"sesion"};
  EXPECT_EQ(fault(options), "hashed: has the entry \"sesion\", which is not among attributes");
  options.hashed = {"session"};
  EXPECT_EQ(fault(options), "");
  options.tiers = {{"tenant", 24, 48}};
  EXPECT_EQ(fault(options), "tiers.tenant: a tier needs a name of its own");
}

TEST(OptionCheck, TrafficIsMarkedByAHeaderFromNetworksOfOurOwn) {
  IdentityOptions options;
  options.marks = {{"x-test", "", "test"}};
  EXPECT_EQ(fault(options), "traffic.test: needs internal_networks: from elsewhere the header does not count");
  options.internal_networks = {"10.0.0.0/8"};
  EXPECT_EQ(fault(options), "");
  options.marks = {{"x test", "", "test"}};
  EXPECT_EQ(fault(options), "traffic.test: no header can have the name \"x test\"");
  options.marks = {{"x-test", "", "external"}};
  EXPECT_EQ(fault(options), "traffic.external: is the name for all other traffic");
}

TEST(OptionCheck, TheTokensHeaderHasAName) {
  IdentityOptions options;
  EXPECT_EQ(fault(options), "");
  options.jwt_header = "x token";
  EXPECT_EQ(fault(options), "jwt_header: no header can have the name \"x token\"");
}

}  // namespace
}  // namespace weir::identity
