// The API where identity applies: what the limiter is asked, and what callers see that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/http/api.h"
#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/request_identity.h"
#include "tests/support/test_client.h"
#include "tests/support/toy_limiter.h"

namespace weir::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using transport::eventually;
using transport::TestClient;

class ApiIdentity : public testing::Test {
 protected:
  ApiIdentity() {
    const auto bound =
        loops_.listen({.endpoint = transport::parse_endpoint("127.0.0.1:0").value(), .protocols = [this](std::size_t) {
                         ApiOptions options;
                         options.identity = std::make_shared<transport::ToyRequestIdentity>();
                         return http_protocols(make_api_router(limiter_, options));
                       }});
    EXPECT_TRUE(bound.ok());
    endpoint_ = bound.value();
    loops_.start();
  }
  static void send(TestClient& client, std::string_view path, std::string_view body) {
    client.send("POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + std::string(body));
  }
  std::string post(std::string_view path, std::string_view body) {
    TestClient client(endpoint_);
    send(client, path, body);
    return client.read_response();
  }

  ToyLimiter limiter_;
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

constexpr std::string_view kGood = R"({"attributes":{"ip":"a"}})";
constexpr std::string_view kRevoked = R"({"attributes":{"key":"revoked"}})";
constexpr std::string_view kMalformed = R"({"attributes":{"ip":"nowhere"}})";

TEST_F(ApiIdentity, EveryRouteWithAttributesAsksAboutTheIdentifiedOnes) {
  for (const char* path : {"/v1/check", "/v1/refund", "/v1/reset"}) {
    EXPECT_THAT(post(path, kGood), StartsWith("HTTP/1.1 200 ")) << path;
  }
  EXPECT_THAT(post("/v1/check/batch", R"({"requests":[{"attributes":{"ip":"b"}},{"attributes":{"x":"y"}}]})"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(limiter_.asked(),
              ElementsAre("ip=net(a) made=yes cost=1", "refund ip=net(a) made=yes cost=1", "ip=net(a) made=yes cost=1",
                          "ip=net(b) made=yes cost=1", "x=y made=yes cost=1"));
  EXPECT_THAT(post("/v1/leases", kGood), StartsWith("HTTP/1.1 201 "));
  EXPECT_THAT(limiter_.leases()->asked().back(), HasSubstr("ip=net(a) made=yes"));
  EXPECT_THAT(post("/v1/reservations", R"({"attributes":{"ip":"a"},"amount":5})"), StartsWith("HTTP/1.1 201 "));
  EXPECT_THAT(limiter_.reservations()->asked().back(), HasSubstr("ip=net(a) made=yes"));
}

TEST_F(ApiIdentity, CredentialsThatAreNotAcceptedAre403AndAskNothing) {
  for (const char* path : {"/v1/check", "/v1/refund", "/v1/reset", "/v1/leases"}) {
    EXPECT_THAT(post(path, kRevoked),
                AllOf(StartsWith("HTTP/1.1 403 Forbidden\r\n"), HasSubstr("\"reason\":\"blocked\""),
                      HasSubstr("\"detail\":\"The caller is blocked, or its credentials were not accepted.\"")))
        << path;
  }
  EXPECT_THAT(post("/v1/reservations", R"({"attributes":{"key":"revoked"},"amount":5})"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(post("/v1/check?deny_status=200", kRevoked),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\"allowed\":false")));
  EXPECT_THAT(limiter_.asked(), IsEmpty());
  EXPECT_THAT(limiter_.leases()->asked(), IsEmpty());
  EXPECT_THAT(limiter_.reservations()->asked(), IsEmpty());
}

TEST_F(ApiIdentity, AMalformedAttributeIs400AndIsNamed) {
  for (const char* path : {"/v1/check", "/v1/refund", "/v1/reset", "/v1/leases"}) {
    EXPECT_THAT(post(path, kMalformed),
                AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("\"detail\":\"attributes.ip: is not an IP address\"")))
        << path;
  }
  EXPECT_THAT(post("/v1/check/batch", R"({"requests":[{"attributes":{}},{"attributes":{"ip":"nowhere"}}]})"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("requests[1].attributes.ip: is not an IP address")));
  EXPECT_THAT(limiter_.asked(), IsEmpty());
}

// Which of the answers of a batch are "blocked": 'b', else 'a'.
std::string blocked_of(const std::string& response) {
  std::string all;
  for (std::size_t at = response.find("\"reason\":\""); at != std::string::npos;
       at = response.find("\"reason\":\"", at + 1)) {
    all += response.compare(at + 10, 7, "blocked") == 0 ? 'b' : 'a';
  }
  return all;
}

TEST_F(ApiIdentity, InABatchOnlyTheRequestsThatAreRefusedAre) {
  constexpr std::string_view kBatch =
      R"({"requests":[{"attributes":{"key":"revoked"}},{"attributes":{"n":"1"}},{"attributes":{"key":"revoked"}},)"
      R"({"attributes":{"key":"revoked"}},{"attributes":{"n":"2"},"cost":7}]})";
  EXPECT_EQ(blocked_of(post("/v1/check/batch", kBatch)), "babba");
  EXPECT_THAT(limiter_.asked(), ElementsAre("n=1 made=yes cost=1", "n=2 made=yes cost=7"));
  EXPECT_EQ(blocked_of(post("/v1/check/batch", R"({"requests":[{"attributes":{"key":"revoked"}}]})")), "b");
  limiter_.defer();
  TestClient client(endpoint_);
  send(client, "/v1/check/batch", kBatch);
  ASSERT_TRUE(eventually([&] { return limiter_.pending() == 2; }));
  // Another batch in between: what was refused belongs to its own.
  EXPECT_EQ(blocked_of(post("/v1/check/batch", R"({"requests":[{"attributes":{"key":"revoked"}}]})")), "b");
  limiter_.complete(1);
  limiter_.complete(0);
  EXPECT_EQ(blocked_of(client.read_response()), "babba");
}

}  // namespace
}  // namespace weir::http
