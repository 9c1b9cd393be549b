// The gateway's time on its way through gRPC: metadata of the call, for Envoy's service and our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/grpc/rls_service.h"
#include "tests/support/grpc_connection.h"
#include "tests/support/ingress_time.h"
#include "weir/v1/limiter.pb.h"

namespace weir::grpc {
namespace {

using testing::ElementsAre;

class GrpcIngressTest : public GrpcConnection {
 protected:
  GrpcIngressTest() { options.times = times; }

  void call(H2Peer& peer, std::int32_t stream, std::string_view path, const std::string& message,
            const std::vector<std::string>& values) {
    Fields fields = call_fields(path);
    for (const std::string& value : values) fields.emplace_back("x-request-start", value);
    peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, header_block(fields)) +
              frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, grpc_message(message)));
    EXPECT_EQ(status_of(peer, stream), "0");
  }
  std::vector<std::int64_t> times_asked() const {
    std::vector<std::int64_t> all;
    for (const ToyLimiter::Asked& each : limiter.asked) all.push_back(micros(each.ingress));
    return all;
  }

  std::shared_ptr<transport::ToyIngressTime> times = std::make_shared<transport::ToyIngressTime>();
};

TEST_F(GrpcIngressTest, ReachesTheLimiterFromEveryMethod) {
  H2Peer& peer = connect();
  v1::CheckRequest check;
  (*check.mutable_attributes()->Add()).set_name("a");
  v1::CheckBatchRequest batch;
  *batch.add_requests() = check;
  *batch.add_requests() = check;
  v1::RefundRequest refund;
  (*refund.mutable_attributes()->Add()).set_name("a");
  call(peer, 1, RlsService::kShouldRateLimit, some_request(), {"71"});
  call(peer, 3, "/weir.v1.Limiter/Check", check.SerializeAsString(), {"72"});
  call(peer, 5, "/weir.v1.Limiter/CheckBatch", batch.SerializeAsString(), {"73"});
  call(peer, 7, "/weir.v1.Limiter/Refund", refund.SerializeAsString(), {"74"});
  EXPECT_THAT(times_asked(), ElementsAre(71, 72, 73, 73, 74));
}

TEST_F(GrpcIngressTest, ReachesALimitThatCameWithTheDescriptorAndSeveralAtOnce) {
  H2Peer& peer = connect();
  ::envoy::service::ratelimit::v3::RateLimitRequest request;
  ASSERT_TRUE(request.ParseFromString(some_request()));
  *request.add_descriptors() = request.descriptors(0);
  call(peer, 1, RlsService::kShouldRateLimit, request.SerializeAsString(), {"75"});
  request.mutable_descriptors(1)->mutable_limit()->set_requests_per_unit(5);
  request.mutable_descriptors(1)->mutable_limit()->set_unit(::envoy::type::v3::MINUTE);
  call(peer, 3, RlsService::kShouldRateLimit, request.SerializeAsString(), {"76"});
  EXPECT_THAT(times_asked(), ElementsAre(75, 75, 76, 76));
}

TEST_F(GrpcIngressTest, OneCallsTimeIsNotTheNextOnes) {
  H2Peer& peer = connect();
  call(peer, 1, RlsService::kShouldRateLimit, some_request(), {"77"});
  call(peer, 3, RlsService::kShouldRateLimit, some_request(), {});
  call(peer, 5, RlsService::kShouldRateLimit, some_request(), {"78"});
  call(peer, 7, RlsService::kShouldRateLimit, some_request(), {"78"});
  EXPECT_THAT(times_asked(), ElementsAre(77, 0, 78, 78));
}

TEST_F(GrpcIngressTest, TellsHowManyFieldsThereAreAndKeepsNoLongValue) {
  H2Peer& peer = connect();
  call(peer, 1, RlsService::kShouldRateLimit, some_request(), {"5", "6"});
  call(peer, 3, RlsService::kShouldRateLimit, some_request(), {std::string(32, '1')});
  call(peer, 5, RlsService::kShouldRateLimit, some_request(), {std::string(33, '1')});
  call(peer, 7, RlsService::kShouldRateLimit, some_request(), std::vector<std::string>(300, "9"));
  EXPECT_THAT(times->asked,
              ElementsAre("2 '5' from ", "1 '" + std::string(32, '1') + "' from ", "1 '' from ", "255 '9' from "));
}

TEST_F(GrpcIngressTest, WithoutAReaderTheFieldMeansNothing) {
  options.times = nullptr;
  H2Peer& peer = connect();
  call(peer, 1, RlsService::kShouldRateLimit, some_request(), {"77"});
  EXPECT_THAT(times_asked(), ElementsAre(0));
}

}  // namespace
}  // namespace weir::grpc
