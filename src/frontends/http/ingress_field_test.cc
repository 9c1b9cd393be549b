// The gateway's time on its way through the HTTP API: every route that charges passes it on.
#include "frontends/http/ingress_field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/http/api.h"
#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/ingress_time.h"
#include "tests/support/test_client.h"
#include "tests/support/toy_limiter.h"

namespace weir::http {
namespace {

using testing::ElementsAre;
using testing::StartsWith;
using transport::TestClient;

// Takes the gateway's time as any other reader of callers does.
class TimedCallers final : public CallerReader {
 public:
  explicit TimedCallers(transport::IngressTime* times) : times_(times) {}
  std::optional<CallerRefusal> read(const HttpRequest& request, const transport::Peer& peer, Caller& caller) override {
    caller.ingress = ingress_of(request, peer, times_);
    return std::nullopt;
  }

 private:
  transport::IngressTime* const times_;
};

class IngressFieldTest : public testing::Test {
 protected:
  void start(const std::shared_ptr<transport::IngressTime>& times) {
    const auto bound = loops_.listen({.endpoint = transport::parse_endpoint("127.0.0.1:0").value(),
                                      .limits = {},
                                      .protocols =
                                          [&, times](std::size_t) {
                                            ApiOptions options;
                                            options.times = times;
                                            options.callers = std::make_shared<TimedCallers>(times.get());
                                            return http_protocols(make_api_router(limiter_, options));
                                          },
                                      .tls = nullptr});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  void post(const std::string& path, const std::string& body, const std::string& fields) {
    TestClient client(endpoint_);
    client.send("POST " + path + " HTTP/1.1\r\nHost: h\r\n" + fields +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200"));
  }

  ToyLimiter limiter_;
  std::shared_ptr<transport::ToyIngressTime> times_ = std::make_shared<transport::ToyIngressTime>();
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

TEST_F(IngressFieldTest, ReachesTheLimiterFromEveryRoute) {
  start(times_);
  const std::string field = "X-Request-Start: 77\r\n";
  post("/v1/check", R"({"attributes":{"a":"b"}})", field);
  post("/v1/refund", R"({"attributes":{"a":"b"}})", field);
  post("/v1/check/batch", R"({"requests":[{"attributes":{"a":"b"}},{"attributes":{"c":"d"}}]})", field);
  post("/v1/forward-auth", "", field);
  EXPECT_THAT(limiter_.asked(), ElementsAre("a=b cost=1 at=77", "refund a=b cost=1 at=77", "a=b cost=1 at=77",
                                            "c=d cost=1 at=77", "cost=1 at=77"));
}

TEST_F(IngressFieldTest, OneRequestsTimeIsNotTheNextOnes) {
  start(times_);
  post("/v1/check", R"({"attributes":{"a":"b"}})", "x-request-start: 77\r\n");
  post("/v1/check", R"({"attributes":{"a":"b"}})", "");
  EXPECT_THAT(limiter_.asked(), ElementsAre("a=b cost=1 at=77", "a=b cost=1"));
  EXPECT_THAT(times_->asked, ElementsAre("1 '77' from 127.0.0.1", "0 '' from 127.0.0.1"));
}

TEST_F(IngressFieldTest, TellsHowManyFieldsThereAre) {
  start(times_);
  post("/v1/check", R"({"attributes":{"a":"b"}})", "X-REQUEST-START: 5\r\nx-other: 1\r\nx-request-start: 6\r\n");
  EXPECT_THAT(times_->asked, ElementsAre("2 '5' from 127.0.0.1"));
}

TEST_F(IngressFieldTest, WithoutAReaderTheFieldMeansNothing) {
  start(nullptr);
  post("/v1/check", R"({"attributes":{"a":"b"}})", "x-request-start: 77\r\n");
  post("/v1/forward-auth", "", "x-request-start: 77\r\n");
  EXPECT_THAT(limiter_.asked(), ElementsAre("a=b cost=1", "cost=1"));
}

}  // namespace
}  // namespace weir::http
