// Guards and path parameters on real sockets: what clients of a guarded router see.
#include "frontends/http/token_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"

namespace weir::http {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using transport::LoginGuard;
using transport::TestClient;

// "right" may do everything, "reader" has the role read.
class TwoTokens final : public Tokens {
 public:
  TokenVerdict check(std::string_view token, std::string_view role) const override {
    if (token == "right") return TokenVerdict::accepted;
    if (token != "reader") return TokenVerdict::rejected;
    return role.empty() || role == "read" ? TokenVerdict::accepted : TokenVerdict::lacks_role;
  }
};

std::string request(std::string_view path, std::string_view fields = "", std::string_view method = "GET") {
  return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

class TokenGuardTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto echo = [](const HttpRequest& asked, ResponseWriter& writer) {
      std::string body(asked.path);
      for (const PathParameter& each : asked.parameters) body += " " + std::string(each.name) + "=" + each.value;
      writer.send({.status = 200, .content_type = "text/plain", .fields = {}, .body = body});
    };
    auto router = std::make_shared<Router>();
    router->add({.method = "GET", .path = "/open", .handler = echo, .open = true});
    router->add({.method = "GET", .path = "/items/{id}", .handler = echo, .role = "read"});
    router->add({.method = "PUT", .path = "/items/{id}", .handler = echo, .role = "write"});
    router->add({.method = "GET", .path = "/items/{id}/parts/{part}", .handler = echo});
    router->add({.method = "GET", .path = "/items/all", .handler = echo});
    router->add({.method = "GET",
                 .path = "/gateway",
                 .handler = echo,
                 .guard = std::make_shared<TokenGuard>("http", tokens_, logins_, TokenGuard::From::own_field)});
    router->set_guard(std::make_shared<TokenGuard>("http", tokens_, logins_));
    const auto bound =
        loops_.listen({.endpoint = transport::parse_endpoint("127.0.0.1:0").value(),
                       .protocols = [&](std::size_t) { return http_protocols(router, {}, nullptr, nullptr); }});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  std::string ask(const std::string& text) {
    TestClient client(endpoint_);
    client.send(text);
    return client.read_response();
  }
  std::string with(std::string_view path, std::string_view field, std::string_view method = "GET") {
    return ask(request(path, std::string(field) + "\r\n", method));
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<LoginGuard> logins_ = std::make_shared<LoginGuard>(clock_);
  std::shared_ptr<TwoTokens> tokens_ = std::make_shared<TwoTokens>();
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

TEST_F(TokenGuardTest, ANeededTokenAndAWrongOneAreToldApart) {
  EXPECT_THAT(ask(request("/items/1")),
              AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer realm=\"weir\"\r\n"),
                    HasSubstr("a token is needed")));
  EXPECT_THAT(with("/items/1", "Authorization: Bearer wrong"),
              AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("error=\"invalid_token\""),
                    HasSubstr("the token is not accepted"), Not(HasSubstr("needed"))));
  EXPECT_THAT(with("/items/1", "Authorization: Basic cmlnaHQ6"), HasSubstr("another scheme"));
  EXPECT_THAT(with("/items/1", "Authorization: Bearer"), HasSubstr("a token is needed"));
  EXPECT_THAT(with("/items/1", "Authorization: bearer right"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(with("/items/1", "X-Weir-Token: right"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(request("/open")), StartsWith("HTTP/1.1 200"));
}

TEST_F(TokenGuardTest, ARouteMayAskForARole) {
  EXPECT_THAT(with("/items/1", "Authorization: Bearer reader"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(with("/items/1", "Authorization: Bearer reader", "PUT"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("does not have the role write")));
  EXPECT_THAT(with("/items/1", "Authorization: Bearer right", "PUT"), StartsWith("HTTP/1.1 200"));
}

// The client's Authorization, which a gateway passes on, is not the gateway's token.
TEST_F(TokenGuardTest, AGatewayHasAFieldOfItsOwn) {
  EXPECT_THAT(with("/gateway", "Authorization: Bearer right"),
              AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("X-Weir-Token")));
  EXPECT_THAT(with("/gateway", "Authorization: Bearer of-the-client\r\nX-Weir-Token: right"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(logins_->sources(), 0U) << "nothing was guessed";
}

TEST_F(TokenGuardTest, WrongTokensAreCountedAndTooManyAreRefused) {
  with("/items/1", "Authorization: Bearer wrong");
  ASSERT_EQ(logins_->sources(), 1U);
  // The guard's clock does not move, so turns are only given away, until the next would be too far off.
  for (int i = 0; i < 20; ++i) {
    logins_->failed({.listener = "http", .kind = transport::LoginKind::token, .address = "127.0.0.1"});
    static_cast<void>(logins_->ask("http", transport::LoginKind::token, "127.0.0.1"));
  }
  const std::string answer = with("/items/1", "Authorization: Bearer right");
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After: 5\r\n")));
}

TEST_F(TokenGuardTest, ARightTokenAfterWrongOnesWaitsForItsTurn) {
  for (int i = 0; i < LoginGuard::kFreeFailures + 1; ++i) {
    logins_->failed({.listener = "http", .kind = transport::LoginKind::token, .address = "127.0.0.1"});
  }
  TestClient client(endpoint_);
  const std::string fields = "Authorization: Bearer right\r\n";
  client.send(request("/items/1", fields) + request("/open"));
  EXPECT_THAT(client.read_response(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("/items/1 id=1")));
  EXPECT_THAT(client.read_response(), HasSubstr("/open")) << "answers keep the order of the requests";
  EXPECT_EQ(logins_->sources(), 0U) << "a right token forgets the wrong ones";
}

TEST_F(TokenGuardTest, ParametersAreDecodedAndPathsThatAreSpelledOutComeFirst) {
  const auto get = [&](std::string_view path) { return with(path, "X-Weir-Token: right"); };
  EXPECT_THAT(get("/items/a%20b"), HasSubstr("/items/a%20b id=a b"));
  EXPECT_THAT(get("/items/a%2Fb/parts/7"), HasSubstr(" id=a/b part=7"));
  EXPECT_THAT(get("/items/all"), Not(HasSubstr("id=")));
  EXPECT_THAT(get("/items/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get("/items/1/parts"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get("/items/1/parts/2/3"), StartsWith("HTTP/1.1 404"));
  for (const char* bad : {"/items/%4", "/items/%zz", "/items/%00", "/items/%ff"}) {
    EXPECT_THAT(get(bad), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("percent escape"))) << bad;
  }
}

TEST_F(TokenGuardTest, AMethodThatAPathDoesNotHaveIsToldWhichItHas) {
  EXPECT_THAT(ask(request("/items/1", "", "DELETE")),
              AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET, HEAD, PUT\r\n"),
                    HasSubstr("method not allowed; use GET, HEAD, PUT")));
  EXPECT_THAT(ask(request("/items/all", "", "PUT")), HasSubstr("Allow: GET, HEAD\r\n"))
      << "a path that is spelled out is no item";
  EXPECT_THAT(ask(request("/nowhere")), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("no such path")));
}

}  // namespace
}  // namespace weir::http
