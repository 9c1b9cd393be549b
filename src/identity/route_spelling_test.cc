// No spelling of a path leads around its route: whatever resource a server makes of a spelling, Weir gives the request
// that resource's route, or refuses it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/identity.h"
#include "tests/support/path_models.h"

namespace weir::identity {
namespace {

const std::vector<Route> kRoutes = {{"*", "/login", "login", 1},
                                    {"*", "/v1/exports", "export", 20},
                                    {"*", "/v1/items/{id}", "item", 1},
                                    {"*", "/v1/Mixed/new", "mixed", 1},
                                    {"*", "/v1/*", "v1", 1},
                                    {"*", "*", "other", 1}};
const std::vector<std::pair<Text, Text>> kResources = {{"/login", "login"},
                                                       {"/v1/exports", "export"},
                                                       {"/v1/items/7", "item"},
                                                       {"/v1/Mixed/new", "mixed"},
                                                       {"/v1/x", "v1"}};

std::shared_ptr<const Identity> with_routes(const std::vector<Route>& routes, bool case_sensitive = false,
                                            TrailingSlash slash = TrailingSlash::ignore,
                                            EncodedSlash encoded = EncodedSlash::refuse) {
  IdentityOptions options;
  options.routes = routes;
  options.paths = {case_sensitive, slash, encoded};
  return make_identity(options);
}

Text action(const std::shared_ptr<const Identity>& identity, std::string_view target, const char* method = "GET") {
  const Asked asked = ask(identity, {}, "203.0.113.9", target, method);
  return asked.refusal ? "refused" : asked["action"];
}

Text path(const std::shared_ptr<const Identity>& identity, std::string_view target) {
  const Asked asked = ask(identity, {}, "203.0.113.9", target);
  return asked.refusal ? "refused" : asked["path"];
}

void expect_the_route_of_its_resource(const Text& target, const Text& found) {
  for (int servers = 0; servers < 20; ++servers) {
    const PathReader server = any_path_reader();
    for (const auto& [known, known_action] : kResources) {
      const Text wanted = server.ignores_case ? lowered(known) : known;
      if (server.resource(target) == wanted) RC_ASSERT(found == known_action);
    }
  }
}

RC_GTEST_PROP(RouteSpelling, EverySpellingHasTheRouteOfItsResourceOrIsRefused, ()) {
  static const auto identity = with_routes(kRoutes);
  for (int spellings = 0; spellings < 20; ++spellings) {
    const Text target = respelled((*rc::gen::elementOf(kResources)).first);
    const Text found = action(identity, target);
    if (found != "refused") expect_the_route_of_its_resource(target, found);
  }
}

// The attribute `path` is what rules match and count by, so it has one spelling as well.
RC_GTEST_PROP(RouteSpelling, EverySpellingGivesTheSamePath, ()) {
  static const auto identity = with_routes(kRoutes);
  const auto& [resource, expected] = *rc::gen::element(kResources[0], kResources[1], kResources[3]);
  const Text target = respelled(resource);
  if (action(identity, target) == expected) RC_ASSERT(path(identity, target) == resource);
}

TEST(RouteSpelling, WhatServersTakeForTheSamePathHasOneRoute) {
  const auto identity = with_routes(kRoutes);
  for (const char* target : {"/login", "/login/", "//login", "/LOGIN", "/Login/", "/login;x", "/login;jsessionid=1?q",
                             "/%6cogin", "/%4Cogin", "/login.", "/login%2e", "///login///", "/;x/login", "/login/;x",
                             "/login%3Bx", "/login?next=/../x"}) {
    EXPECT_EQ(action(identity, target), "login") << target;
    EXPECT_EQ(path(identity, target), "/login") << target;
  }
  EXPECT_EQ(action(identity, "/v1//exports"), "export");
  EXPECT_EQ(action(identity, "/V1/exports;v=2/"), "export");
  EXPECT_EQ(action(identity, "/v1"), "v1") << "/v1/* without its slash";
  EXPECT_EQ(action(identity, "/v1/"), "v1");
  EXPECT_EQ(action(identity, "/v1/items/"), "v1") << "an empty segment is no {id}";
  EXPECT_EQ(action(identity, "/"), "other");
  EXPECT_EQ(action(identity, "*", "OPTIONS"), "other");
}

TEST(RouteSpelling, WhatServersReadDifferentlyIsRefused) {
  const auto identity = with_routes(kRoutes);
  for (const char* target : {"/v1/..;/exports",
                             "/v1%2fexports",
                             "/v1%2Fexports",
                             "/login%20",
                             "/login%20/",
                             "/login%20.",
                             "/login%20;x",
                             "/v1/x/../exports",
                             "/v1/%2e%2e/login",
                             "/v1/.%2E/login",
                             "/./login",
                             "/login/.",
                             "/login/..",
                             "/.;x/login",
                             "/v1\\exports",
                             "/v1%5cexports",
                             "/v1%5Cexports",
                             "/login%00",
                             "/login%0a",
                             "/login%09",
                             "/login%7f",
                             "/log in",
                             "/login#x",
                             "/login#/../x",
                             "/%256cogin",
                             "/%25%36cogin",
                             "/login%252f",
                             "/%c0%aflogin",
                             "/login%ff",
                             "/%ed%a0%80",
                             "/login%",
                             "/login%2",
                             "/login%zz",
                             "login",
                             "",
                             "?x"}) {
    EXPECT_EQ(action(identity, target), "refused") << target;
  }
  EXPECT_EQ(action(identity, std::string_view("/log\0in", 7)), "refused");
  EXPECT_EQ(action(identity, "http://shop.example?x=/login"), "refused");
}

TEST(RouteSpelling, OrdinaryPathsAreLeftAlone) {
  const auto identity = with_routes({});
  for (const char* target : {"/", "/a", "/A/b", "/a/", "/a.b/c..d", "/~user", "/a%20b", "/caf%C3%A9", "/@me/+1",
                             "/a:b,c=d!$&'()*", "/100%25", "/U.S."}) {
    EXPECT_EQ(path(identity, target), target);
  }
  EXPECT_EQ(path(identity, "/caf\xc3\xa9/%c3%a9"), "/caf%C3%A9/%C3%A9");
  EXPECT_EQ(path(identity, "/%7euser/%40me/%2b1/%2a"), "/~user/@me/+1/*");
  EXPECT_EQ(path(identity, "/%22%3c%3f"), "/%22%3C%3F");
  EXPECT_EQ(path(identity, "/a;v=1/b;w"), "/a/b");
}

TEST(RouteSpelling, CaseAndTrailingSlashesCountWhereTheyAreSaidTo) {
  const std::vector<Route> routes = {{"*", "/login", "login", 1},
                                     {"*", "/Login", "Login", 1},
                                     {"*", "/docs/", "docs", 1},
                                     {"*", "/v1/*", "v1", 1},
                                     {"*", "*", "other", 1}};
  const auto strict = with_routes(routes, true, TrailingSlash::strict);
  EXPECT_EQ(action(strict, "/login"), "login");
  EXPECT_EQ(action(strict, "/Login"), "Login");
  EXPECT_EQ(action(strict, "/LOGIN"), "other");
  EXPECT_EQ(action(strict, "/login/"), "other");
  EXPECT_EQ(action(strict, "/docs/"), "docs");
  EXPECT_EQ(action(strict, "/docs"), "other");
  EXPECT_EQ(action(strict, "/v1"), "other");
  EXPECT_EQ(action(strict, "//login"), "login") << "slashes are merged in any case";
  EXPECT_EQ(path(strict, "/docs/"), "/docs/");
  IdentityOptions options;
  options.routes = routes;
  EXPECT_FALSE(Identity::create(options).ok()) << "/login and /Login are one pattern unless case counts";
  const auto lax = with_routes({routes[2]});
  EXPECT_EQ(path(lax, "/DOCS"), "/docs/") << "in the route's spelling";
}

TEST(RouteSpelling, AnEncodedSlashMayBePartOfASegment) {
  const auto identity = with_routes({{"*", "/projects/{id}", "project", 1}, {"*", "*", "other", 1}}, false,
                                    TrailingSlash::ignore, EncodedSlash::keep);
  EXPECT_EQ(action(identity, "/projects/group%2fname"), "project");
  EXPECT_EQ(path(identity, "/projects/group%2fname"), "/projects/group%2Fname");
  EXPECT_EQ(action(identity, "/projects%2fx"), "other");
  EXPECT_EQ(action(identity, "/projects/..%2fx"), "refused");
  EXPECT_EQ(action(identity, "/projects/x%2f.."), "refused");
}

TEST(RouteSpelling, MethodsHaveOneSpellingAndHeadIsServedLikeGet) {
  const auto identity = with_routes({{"GET", "/a", "read", 2},
                                     {"*", "/a", "any", 1},
                                     {"HEAD", "/b", "head", 1},
                                     {"GET", "/b", "read.b", 1},
                                     {"GET", "/c/*", "tree", 1}});
  EXPECT_EQ(action(identity, "/a", "get"), "read");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "/a", "gEt")["method"], "GET");
  EXPECT_EQ(action(identity, "/a", "HEAD"), "read");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "/a", "HEAD")["method"], "HEAD");
  EXPECT_EQ(action(identity, "/b", "HEAD"), "head");
  EXPECT_EQ(action(identity, "/c/x", "HEAD"), "tree");
  EXPECT_EQ(action(identity, "/a", "POST"), "any");
}

TEST(RouteSpelling, RoutesThatLeaveRequestsOutAreKnown) {
  EXPECT_FALSE(with_routes({})->has_requests_without_route()) << "no routes, no gaps";
  EXPECT_FALSE(with_routes({{"*", "*", "x", 1}})->has_requests_without_route());
  EXPECT_FALSE(with_routes({{"*", "/*", "x", 1}})->has_requests_without_route());
  EXPECT_TRUE(with_routes({{"GET", "*", "x", 1}})->has_requests_without_route());
  EXPECT_TRUE(with_routes({{"*", "/v1/*", "x", 1}})->has_requests_without_route());
}

TEST(RouteSpelling, PatternsThatNoPathCanFitAreRefused) {
  for (const char* pattern : {"/a//b", "/a;x", "/a/../b", "/a%2fb", "/a%20", "/a\\b", "/a/*/"}) {
    IdentityOptions options;
    options.routes = {{"*", pattern, "x", 1}};
    EXPECT_FALSE(Identity::create(options).ok()) << pattern;
  }
}

}  // namespace
}  // namespace weir::identity
