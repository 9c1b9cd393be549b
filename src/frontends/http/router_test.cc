// Which route answers a method and a path, its parameters, and which methods a path has.
#include "frontends/http/router.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::http {
namespace {

class AnyGuard final : public Guard {
 public:
  bool admit(const HttpRequest&, std::string_view, ResponseWriter&) override { return true; }
};

class RouterTest : public testing::Test {
 protected:
  RouterTest() {
    add("GET", "/now");
    add("POST", "/now");
    add("POST", "/only");
    add("", "/any");
    add("GET", "/v1/tenants/{tenant}");
    add("DELETE", "/v1/tenants/{tenant}");
    add("GET", "/v1/{kind}/all");
    add("PUT", "/v1/tenants/special");
    add("GET", "/v1/tenants/{tenant}/keys/{key}");
  }

  void add(std::string method, std::string path) {
    Route route;
    route.method = std::move(method);
    route.path = std::move(path);
    router_.add(std::move(route));
  }
  // "GET /now", or the methods that the path has in parentheses.
  std::string find(std::string_view method, std::string_view path) {
    std::string allow = "left from before";
    const Route* const route = router_.find(method, path, allow);
    return route != nullptr ? route->method + " " + route->path : "(" + allow + ")";
  }
  // "tenant=acme key=k", or "bad".
  std::string parameters(std::string_view path) {
    std::string allow;
    const Route* const route = router_.find("GET", path, allow);
    if (route == nullptr) return "no route";
    std::vector<PathParameter> found = {{"old", "left from before"}};
    if (!read_parameters(*route, path, found)) return "bad";
    std::string text;
    for (const PathParameter& each : found)
      text += (text.empty() ? "" : " ") + std::string(each.name) + "=" + each.value;
    return text;
  }

  Router router_;
};

TEST_F(RouterTest, FindsAPathAsItIsSpelledOut) {
  EXPECT_EQ(find("GET", "/now"), "GET /now");
  EXPECT_EQ(find("POST", "/now"), "POST /now");
  EXPECT_EQ(find("HEAD", "/now"), "GET /now");
  EXPECT_EQ(find("BREW", "/any"), " /any");
  for (const char* path : {"/", "/nowhere", "/now/", "/no", "//now", "now", "", "*", "/NOW"}) {
    EXPECT_EQ(find("GET", path), "()") << path;
  }
}

TEST_F(RouterTest, AParameterIsOneSegmentThatIsNotEmpty) {
  EXPECT_EQ(find("GET", "/v1/tenants/acme"), "GET /v1/tenants/{tenant}");
  EXPECT_EQ(find("HEAD", "/v1/tenants/acme"), "GET /v1/tenants/{tenant}");
  EXPECT_EQ(find("GET", "/v1/tenants/acme/keys/k"), "GET /v1/tenants/{tenant}/keys/{key}");
  for (const char* path :
       {"/v1/tenants", "/v1/tenants/", "/v1/tenants//keys/k", "/v1/tenants/acme/", "/v1/tenants/acme/keys",
        "/v1/tenants/acme/keys/", "/v1/tenants/acme/keys/k/", "/v2/tenants/acme", "/v1/tenants/a/b/c"}) {
    EXPECT_EQ(find("GET", path), "()") << path;
  }
}

TEST_F(RouterTest, TheFirstPatternThatMatchesCountsAndASpelledOutPathBeforeAllPatterns) {
  EXPECT_EQ(find("GET", "/v1/tenants/all"), "GET /v1/tenants/{tenant}");
  EXPECT_EQ(find("GET", "/v1/users/all"), "GET /v1/{kind}/all");
  EXPECT_EQ(find("PUT", "/v1/tenants/special"), "PUT /v1/tenants/special");
  EXPECT_EQ(find("GET", "/v1/tenants/special"), "(PUT)") << "a spelled-out path is never matched by a pattern";
}

TEST_F(RouterTest, NamesTheMethodsThatAPathHas) {
  EXPECT_EQ(find("PUT", "/now"), "(GET, HEAD, POST)");
  EXPECT_EQ(find("GET", "/only"), "(POST)");
  EXPECT_EQ(find("POST", "/v1/tenants/acme"), "(GET, HEAD, DELETE)");
}

TEST_F(RouterTest, ParametersAreDecoded) {
  EXPECT_EQ(parameters("/v1/tenants/acme"), "tenant=acme");
  EXPECT_EQ(parameters("/v1/tenants/a%2Fb%20c/keys/%C3%a4"), "tenant=a/b c key=\xc3\xa4");
  EXPECT_EQ(parameters("/now"), "");
  for (const char* path : {"/v1/tenants/a%", "/v1/tenants/a%2", "/v1/tenants/%zz", "/v1/tenants/%2z", "/v1/tenants/%z2",
                           "/v1/tenants/%ff", "/v1/tenants/%00", "/v1/tenants/%ff/keys/k", "/v1/tenants/t/keys/%ff"}) {
    EXPECT_EQ(parameters(path), "bad") << path;
  }
}

TEST_F(RouterTest, ARouteIsBehindItsOwnGuardOrTheRouters) {
  Route open;
  open.path = "/open";
  open.open = true;
  Route plain;
  plain.path = "/plain";
  Route own = plain;
  own.guard = std::make_shared<AnyGuard>();
  EXPECT_EQ(router_.guard_of(plain), nullptr);
  const auto guard = std::make_shared<AnyGuard>();
  router_.set_guard(guard);
  EXPECT_EQ(router_.guard_of(plain), guard.get());
  EXPECT_EQ(router_.guard_of(own), own.guard.get());
  own.open = true;
  EXPECT_EQ(router_.guard_of(own), nullptr) << "an open route has none";
  EXPECT_EQ(router_.guard_of(open), nullptr);
}

TEST(HttpRequest, FindsParametersByTheirNames) {
  const PathParameter parameters[] = {{"tenant", "acme"}, {"key", "k"}};
  HttpRequest request;
  request.parameters = parameters;
  EXPECT_EQ(request.parameter("key"), "k");
  EXPECT_EQ(request.parameter("tenant"), "acme");
  EXPECT_EQ(request.parameter("user"), "");
}

}  // namespace
}  // namespace weir::http
