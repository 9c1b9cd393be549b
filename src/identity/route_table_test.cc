#include "identity/route_table.h"

#include <gtest/gtest.h>

#include "identity/route_path.h"

namespace weir::identity {
namespace {

RouteTable table(const std::vector<Route>& routes) { return RouteTable::create(routes).value(); }

std::string action(const RouteTable& routes, const char* method, const char* target) {
  const std::optional<std::string> path = normal_path(target);
  if (!path) return "refused";
  const Route* route = routes.match(method, *path);
  return route == nullptr ? "none" : route->action;
}

TEST(NormalPath, GivesEachPathOneSpelling) {
  EXPECT_EQ(normal_path("/v1/items?id=7"), "/v1/items");
  EXPECT_EQ(normal_path("/%76%31/%69tems"), "/v1/items");
  EXPECT_EQ(normal_path("/a%2fb", EncodedSlash::keep), "/a%2Fb");
  EXPECT_EQ(normal_path("/a%2Fb", EncodedSlash::keep), "/a%2Fb");
  EXPECT_EQ(normal_path("//a//b/"), "/a/b/");
  EXPECT_EQ(normal_path("/%7euser/%C3%a9"), "/~user/%C3%A9");
  EXPECT_EQ(normal_path("*"), "*");
}

TEST(NormalPath, RefusesTricks) {
  for (const char* target :
       {"",       "v1/items", "http://host/v1", "/a/../b",   "/a/%2e%2e/b", "/a/.%2E", "/.",   "/a/./b", "/...",
        "/a%2fb", "/a%252fb", "/%00",           "/a%0d%0ab", "/%",          "/%4",     "/%zz", "/a\nb",  "/a\x7f",
        "?x",     "/%%36%31", "/v1/items#x",    "/v1?a#b"}) {
    EXPECT_FALSE(normal_path(target)) << target;
  }
  EXPECT_FALSE(normal_path(std::string_view("/a\0b", 4)));
  EXPECT_FALSE(normal_path("/" + std::string(kMaxTargetBytes, 'a')));
}

TEST(RouteTable, FindsTheMostSpecificRoute) {
  const RouteTable routes = table({{"GET", "/v1/items/{id}", "item.read", 1},
                                   {"*", "/v1/items/{id}", "item.any", 2},
                                   {"GET", "/v1/items/new", "item.form", 1},
                                   {"POST", "/v1/items", "item.create", 5},
                                   {"*", "/v1/*", "v1", 1},
                                   {"*", "/", "root", 1},
                                   {"DELETE", "*", "delete", 9}});
  EXPECT_EQ(action(routes, "GET", "/v1/items/7"), "item.read");
  EXPECT_EQ(action(routes, "PUT", "/v1/items/7"), "item.any");
  EXPECT_EQ(action(routes, "GET", "/v1/items/new"), "item.form");
  EXPECT_EQ(action(routes, "PUT", "/v1/items/new"), "item.any") << "the literal has no PUT, the {id} has";
  EXPECT_EQ(action(routes, "POST", "/v1/items"), "item.create");
  EXPECT_EQ(action(routes, "GET", "/v1/items"), "v1");
  EXPECT_EQ(action(routes, "GET", "/v1/items/"), "v1") << "an empty segment is no {id}";
  EXPECT_EQ(action(routes, "GET", "/v1/items/7/8"), "v1");
  EXPECT_EQ(action(routes, "GET", "/v1/"), "v1");
  EXPECT_EQ(action(routes, "GET", "/v1"), "v1");
  EXPECT_EQ(action(routes, "GET", "/v1x/y"), "none");
  EXPECT_EQ(action(routes, "GET", "/"), "root");
  EXPECT_EQ(action(routes, "DELETE", "/elsewhere"), "delete");
  EXPECT_EQ(action(routes, "DELETE", "/v1/items/7"), "item.any") << "a whole pattern beats *";
  EXPECT_EQ(action(routes, "get", "/v1/items/7"), "item.any") << "methods have case";
}

TEST(RouteTable, EscapesDoNotLeadAround) {
  const RouteTable routes = table({{"*", "/v1/search", "search", 1}, {"*", "/v1/{x}", "other", 1}});
  EXPECT_EQ(action(routes, "GET", "/v1/%73earch?q=1"), "search");
  EXPECT_EQ(action(routes, "GET", "/v1/search%2f"), "refused");
  EXPECT_EQ(action(routes, "GET", "/v1/x/../search"), "refused");
  EXPECT_EQ(action(routes, "GET", "/v1/search%00"), "refused");
  EXPECT_EQ(action(routes, "GET", "//v1/search"), "search");
}

TEST(RouteTable, ADeadEndBehindALiteralDoesNotHideTheParameter) {
  const RouteTable routes =
      table({{"*", "/a/b/c", "literal", 1}, {"*", "/a/{x}/d", "parameter", 1}, {"*", "/{x}/b/e", "e", 1}});
  EXPECT_EQ(action(routes, "GET", "/a/b/c"), "literal");
  EXPECT_EQ(action(routes, "GET", "/a/b/d"), "parameter");
  EXPECT_EQ(action(routes, "GET", "/a/b/e"), "e");
  EXPECT_EQ(action(routes, "GET", "/a/b/f"), "none");
}

TEST(RouteTable, GivesWhatParametersStandFor) {
  const RouteTable routes = table({{"*", "/v1/{tenant}/items/{id}/*", "x", 1}});
  const std::string path = "/v1/acme/items/7/rest";
  const Route* route = routes.match("GET", path);
  ASSERT_NE(route, nullptr);
  EXPECT_EQ(RouteTable::parameter(*route, path, "tenant"), "acme");
  EXPECT_EQ(RouteTable::parameter(*route, path, "id"), "7");
  EXPECT_EQ(RouteTable::parameter(*route, path, "other"), std::nullopt);
}

TEST(RouteTable, RefusesMalformedAndRepeatedRoutes) {
  const auto fails = [](const std::vector<Route>& routes) {
    const auto made = RouteTable::create(routes);
    return !made.ok() && made.failure().code == Code::invalid_argument;
  };
  EXPECT_TRUE(fails({{"GET", "v1", "a", 1}}));
  EXPECT_TRUE(fails({{"GET", "", "a", 1}}));
  EXPECT_TRUE(fails({{"GET", "/v1/*/x", "a", 1}}));
  EXPECT_TRUE(fails({{"GET", "/v1/x{id}", "a", 1}}));
  EXPECT_TRUE(fails({{"GET", "/v1/{}", "a", 1}}));
  EXPECT_TRUE(fails({{"GET", "/v1/../x", "a", 1}}));
  EXPECT_TRUE(fails({{"GET", "/v1", "", 1}}));
  EXPECT_TRUE(fails({{"", "/v1", "a", 1}}));
  EXPECT_TRUE(fails({{"GET", "/v1", "a", -1}}));
  EXPECT_TRUE(fails({{"GET", "/v1/{a}", "a", 1}, {"GET", "/v1/{b}", "b", 1}}));
  EXPECT_FALSE(fails({{"GET", "/v1/{a}", "a", 1}, {"PUT", "/v1/{b}", "b", 1}}));
  std::string deep;
  for (std::size_t i = 0; i <= RouteTable::kMaxPatternSegments; ++i) deep += "/x";
  EXPECT_TRUE(fails({{"GET", deep, "a", 1}}));
}

// Patterns chosen so that searching with backtracking would take 2^n steps; here each is one state more, or refused.
TEST(RouteTable, OneRouteForEveryMethodAndPathIsACatchAll) {
  const Route login{"POST", "/login", "login", 1};
  EXPECT_FALSE(table({}).has_catch_all());
  EXPECT_FALSE(table({login, {"GET", "/*", "read", 1}, {"*", "/v1/*", "v1", 1}}).has_catch_all());
  EXPECT_TRUE(table({login, {"*", "*", "other", 1}}).has_catch_all());
  EXPECT_TRUE(table({login, {"*", "/*", "other", 1}}).has_catch_all());
}

TEST(RouteTable, OverlappingPatternsStayBounded) {
  std::vector<Route> routes;
  for (int bits = 0; bits < 256; ++bits) {
    std::string pattern;
    for (int i = 0; i < 8; ++i) pattern += (bits >> i & 1) ? "/{x}" : "/a";
    routes.push_back({"*", pattern + "/end" + std::to_string(bits), "r" + std::to_string(bits), 1});
  }
  const RouteTable made = table(routes);
  EXPECT_EQ(action(made, "GET", "/a/a/a/a/a/a/a/a/end255"), "r255");
  EXPECT_EQ(action(made, "GET", "/a/b/a/a/a/a/a/a/end2"), "r2");
  EXPECT_EQ(action(made, "GET", "/a/b/a/a/a/a/a/a/end1"), "none");
  std::string path;
  for (int i = 0; i < 4000; ++i) path += "/a";
  EXPECT_EQ(action(made, "GET", path.c_str()), "none");
}

}  // namespace
}  // namespace weir::identity
