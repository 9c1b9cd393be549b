// POST /json on real sockets with a toy limiter.
#include "frontends/envoy/rls_route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"
#include "tests/support/toy_limiter.h"

namespace weir::envoy {
namespace {

using http::ToyLimiter;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using transport::eventually;
using transport::TestClient;

class RlsRouteTest : public testing::Test {
 protected:
  RlsRouteTest() {
    const auto bound = loops_.listen({.endpoint = transport::parse_endpoint("127.0.0.1:0").value(),
                                      .limits = {},
                                      .protocols =
                                          [&](std::size_t) {
                                            auto router = std::make_shared<http::Router>();
                                            add_rls_route(*router, limiter_, {}, 4096);
                                            return http::http_protocols(std::move(router));
                                          },
                                      .tls = nullptr});
    EXPECT_TRUE(bound.ok());
    endpoint_ = bound.value();
    loops_.start();
  }
  void send(TestClient& client, std::string_view body) const {
    client.send("POST /json HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                std::string(body));
  }
  std::string ask(std::string_view body) {
    TestClient client(endpoint_);
    send(client, body);
    return client.read_response();
  }

  ToyLimiter limiter_;
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

constexpr std::string_view kBody =
    R"({"domain":"shop","hitsAddend":2,"descriptors":[{"entries":[{"key":"user","value":"ann"}]}]})";

TEST_F(RlsRouteTest, AnswersOkWithTheProtoJsonOfTheResponse) {
  const std::string response = ask(kBody);
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(response, HasSubstr(R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":)"
                                  R"({"requestsPerUnit":120,"unit":"MINUTE","name":"search-per-key"})"));
  EXPECT_THAT(response, HasSubstr(R"("responseHeadersToAdd":[{"key":"RateLimit-Policy")"));
  EXPECT_THAT(limiter_.asked(), ElementsAre("domain=shop user=ann cost=2"));
}

TEST_F(RlsRouteTest, AnswersOverLimitAs429) {
  limiter_.decide_by(ToyLimiter::denied);
  const std::string response = ask(kBody);
  EXPECT_THAT(response, StartsWith("HTTP/1.1 429 Too Many Requests\r\n"));
  EXPECT_THAT(response, HasSubstr(R"({"overallCode":"OVER_LIMIT",)"));
  EXPECT_THAT(response, HasSubstr(R"({"key":"Retry-After","value":"2"})"));
  EXPECT_THAT(response, Not(HasSubstr("rawBody")));
  limiter_.decide_by([](const Request& request) {
    Decision decision = ToyLimiter::denied(request);
    decision.message = "Wait {wait}.";
    return decision;
  });
  EXPECT_THAT(ask(kBody), HasSubstr(R"(],"rawBody":"V2FpdCAxLjIgcy4="})")) << "Wait 1.2 s.";
}

TEST_F(RlsRouteTest, AnswersABadBodyAs400AndSaysWhy) {
  EXPECT_THAT(ask("{"), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("the body is not JSON")));
  EXPECT_THAT(ask("{}"), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("rate limit domain must not be empty")));
  EXPECT_THAT(ask(R"({"domain":"d"})"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("rate limit descriptor list must not be empty")));
  EXPECT_THAT(ask(R"({"domain":"d","descriptors":[{"entires":[]}]})"), HasSubstr("entires: unknown member"));
  EXPECT_THAT(ask(R"({"domain":"d","domain":"e"})"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("domain: is given twice")));
  EXPECT_THAT(ask(R"({"domain":"d","hits_addend":1,"hitsAddend":9})"), HasSubstr("hitsAddend: is given twice"));
  EXPECT_THAT(ask(std::string(5000, ' ')), StartsWith("HTTP/1.1 413 "));
}

TEST_F(RlsRouteTest, AnswersALimiterThatTakesItsTime) {
  limiter_.defer();
  TestClient client(endpoint_);
  send(client, kBody);
  ASSERT_TRUE(eventually([&] { return limiter_.pending() == 1; }));
  limiter_.complete(0);
  EXPECT_THAT(client.read_response(), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr(R"("overallCode":"OK")")));
}

}  // namespace
}  // namespace weir::envoy
