// /v1/forward-auth on real sockets, with a toy limiter and a toy idea of who is asking.
#include "frontends/http/forward_auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>

#include "frontends/http/api.h"
#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"
#include "tests/support/toy_limiter.h"

namespace weir::http {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using transport::eventually;
using transport::TestClient;

// The field X-Who becomes an attribute, with the peer's address; "nobody" and "garbled" are refused.
class ToyCallers final : public CallerReader {
 public:
  std::optional<CallerRefusal> read(const HttpRequest& request, const transport::Peer& peer, Caller& caller) override {
    const HttpField* who = request.find("x-who");
    if (who != nullptr && who->value == "nobody") return CallerRefusal{401, "not accepted"};
    if (who != nullptr && who->value == "garbled") return CallerRefusal{400, "not readable"};
    who_ = who == nullptr ? "" : std::string(who->value);
    attributes_[0] = {"who", who_};
    attributes_[1] = {"peer", peer.address};
    caller.attributes = attributes_;
    caller.cost = Cost{3};
    return std::nullopt;
  }

 private:
  std::string who_;
  std::array<Attribute, 2> attributes_;
};

class ForwardAuthTest : public testing::Test {
 protected:
  void start() {
    const auto bound = loops_.listen({.endpoint = transport::parse_endpoint("127.0.0.1:0").value(),
                                      .limits = {},
                                      .protocols =
                                          [&](std::size_t) {
                                            ApiOptions options;
                                            options.callers = std::make_shared<ToyCallers>();
                                            return http_protocols(make_api_router(limiter_, options));
                                          },
                                      .tls = nullptr});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  static std::string request(std::string_view method, std::string_view query = "", std::string_view fields = "") {
    return std::string(method) + " /v1/forward-auth" + std::string(query) + " HTTP/1.1\r\nHost: h\r\n" +
           std::string(fields) + "\r\n";
  }
  std::string ask(const std::string& bytes, bool has_body = true) {
    TestClient client(endpoint_);
    client.send(bytes);
    return has_body ? client.read_response() : client.read_until("\r\n\r\n");
  }

  ToyLimiter limiter_;
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

TEST_F(ForwardAuthTest, AllowsWithFieldsAndNoBodyWhateverTheMethod) {
  start();
  for (const char* method : {"GET", "POST", "DELETE", "PROPFIND"}) {
    const std::string response = ask(request(method, "", "X-Who: me\r\n"));
    EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")) << method;
    EXPECT_THAT(response, HasSubstr("\r\nRateLimit: \"search-per-key\";r=119;t=1\r\n"));
    EXPECT_THAT(response, EndsWith("\r\n\r\n"));
  }
  EXPECT_THAT(ask(request("HEAD"), false), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(limiter_.asked().front(), "who=me peer=127.0.0.1 cost=3");
}

TEST_F(ForwardAuthTest, TheDescriptionListsTheMethodsAndEachIsAnswered) {
  start();
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.parse(std::string(openapi_json()));
  simdjson::dom::object path = simdjson::dom::object(root["paths"])["/v1/forward-auth"];
  for (std::string method : {"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"}) {
    EXPECT_THAT(ask(request(method), method != "HEAD"), StartsWith("HTTP/1.1 200 OK\r\n")) << method;
    std::transform(method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::tolower(c); });
    EXPECT_EQ(path[method].error(), simdjson::SUCCESS) << method;
  }
}

TEST_F(ForwardAuthTest, ABodyIsNotLookedAt) {
  start();
  EXPECT_THAT(ask(request("POST", "", "Content-Length: 9\r\n") + "not json!"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ForwardAuthTest, DeniesWithAProblemAndTheStatusThatTheGatewayUnderstands) {
  limiter_.decide_by(ToyLimiter::denied);
  start();
  const std::string plain = ask(request("GET"));
  EXPECT_THAT(plain, StartsWith("HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\n"));
  EXPECT_THAT(plain, HasSubstr("\r\nRetry-After: 2\r\n"));
  EXPECT_THAT(plain, Not(HasSubstr("Weir-Status")));
  const std::string nginx = ask(request("GET", "?deny_status=403"));
  EXPECT_THAT(nginx, StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(nginx, HasSubstr("\r\nRetry-After: 2\r\nWeir-Status: 429\r\nWeir-Reason: limit_exceeded\r\n"));
  EXPECT_THAT(ask(request("GET", "?deny_status=200")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(request("GET", "?x=1&deny_status=403&y")), StartsWith("HTTP/1.1 403 ")) << "a client's own query";
}

TEST_F(ForwardAuthTest, AStoreThatIsAwayIsNotTheClientsFault) {
  limiter_.decide_by([](const Request& asked) {
    Decision decision = ToyLimiter::denied(asked);
    decision.reason = Reason::store_unavailable;
    return decision;
  });
  start();
  EXPECT_THAT(ask(request("GET")), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(ask(request("GET", "?deny_status=403")), HasSubstr("\r\nWeir-Status: 503\r\n"));
}

// Refused before a rule is asked.
TEST_F(ForwardAuthTest, WhoeverIsNotAcceptedReachesNoRule) {
  start();
  const std::string nobody = ask(request("GET", "?deny_status=403", "X-Who: nobody\r\n"));
  EXPECT_THAT(nobody, StartsWith("HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\n"));
  EXPECT_THAT(nobody, HasSubstr("\r\nWWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(ask(request("GET", "", "X-Who: garbled\r\n")), StartsWith("HTTP/1.1 400 "));
  const std::string mapped = ask(request("GET", "?deny_status=403", "X-Who: garbled\r\n"));
  EXPECT_THAT(mapped, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(mapped, HasSubstr("\r\nWeir-Status: 400\r\n"));
  EXPECT_TRUE(limiter_.asked().empty());
}

TEST_F(ForwardAuthTest, AnAnswerThatComesLaterIsTheSame) {
  limiter_.decide_by(ToyLimiter::denied);
  limiter_.defer();
  start();
  TestClient client(endpoint_);
  client.send(request("GET", "?deny_status=403"));
  ASSERT_TRUE(eventually([&] { return limiter_.pending() == 1; }));
  limiter_.complete(0);
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 403 Forbidden\r\n"));
}

}  // namespace
}  // namespace weir::http
