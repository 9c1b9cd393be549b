// gRPC where identity applies: what the limiter is asked, and what callers see that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/grpc/rls_service.h"
#include "tests/support/grpc_connection.h"
#include "tests/support/request_identity.h"
#include "weir/v1/limiter.pb.h"

namespace weir::grpc {
namespace {

using ::envoy::service::ratelimit::v3::RateLimitRequest;
using ::envoy::service::ratelimit::v3::RateLimitResponse;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class GrpcIdentity : public GrpcConnection {
 protected:
  GrpcIdentity() { options.identity = std::make_shared<transport::ToyRequestIdentity>(); }

  template <typename Message>
  static void add(Message& message, const char* name, const char* value) {
    auto& attribute = *message.add_attributes();
    attribute.set_name(name);
    attribute.set_value(value);
  }
  H2Peer::Answer call(H2Peer& peer, std::string_view path, const std::string& message) {
    stream_ += 2;
    peer.send_call(stream_, path, grpc_message(message));
    limiter.answer_all();
    return peer.receive_answers()[stream_];
  }
  template <typename Response>
  static Response parsed(const H2Peer::Answer& answer) {
    Response response;
    EXPECT_EQ(answer.fields.at("grpc-status"), "0");
    EXPECT_TRUE(response.ParseFromString(answer.body.substr(5)));
    return response;
  }

  std::int32_t stream_ = -1;
};

TEST_F(GrpcIdentity, EveryMethodAsksAboutTheIdentifiedAttributes) {
  H2Peer& peer = connect();
  v1::CheckRequest check;
  add(check, "ip", "a");
  v1::RefundRequest refund;
  add(refund, "ip", "b");
  v1::CheckBatchRequest batch;
  *batch.add_requests() = check;
  call(peer, "/weir.v1.Limiter/Check", check.SerializeAsString());
  call(peer, "/weir.v1.Limiter/Refund", refund.SerializeAsString());
  call(peer, "/weir.v1.Limiter/CheckBatch", batch.SerializeAsString());
  RateLimitRequest envoy;
  ASSERT_TRUE(envoy.ParseFromString(some_request()));
  call(peer, RlsService::kShouldRateLimit, envoy.SerializeAsString());
  ASSERT_EQ(limiter.asked.size(), 4U);
  EXPECT_THAT(limiter.asked[0].attributes, ElementsAre(Pair("ip", "net(a)"), Pair("made", "yes")));
  EXPECT_THAT(limiter.asked[1].attributes, ElementsAre(Pair("ip", "net(b)"), Pair("made", "yes")));
  EXPECT_THAT(limiter.asked[2].attributes, ElementsAre(Pair("ip", "net(a)"), Pair("made", "yes")));
  EXPECT_THAT(limiter.asked[3].attributes,
              ElementsAre(Pair("domain", "shop"), Pair("user", "ann"), Pair("made", "yes")));
}

// A denial is an answer, not an error (limiter.proto).
TEST_F(GrpcIdentity, CredentialsThatAreNotAcceptedAreADecision) {
  H2Peer& peer = connect();
  v1::CheckRequest check;
  add(check, "key", "revoked");
  const auto answer = parsed<v1::CheckResponse>(call(peer, "/weir.v1.Limiter/Check", check.SerializeAsString()));
  EXPECT_FALSE(answer.decision().allowed());
  EXPECT_EQ(answer.decision().reason(), v1::REASON_BLOCKED);
  v1::CheckRequest malformed;
  add(malformed, "ip", "nowhere");
  const auto error = call(peer, "/weir.v1.Limiter/Check", malformed.SerializeAsString());
  EXPECT_EQ(error.fields.at("grpc-status"), "3");
  EXPECT_EQ(error.fields.at("grpc-message"), "attributes.ip: is not an IP address");
  EXPECT_THAT(limiter.asked, IsEmpty());
}

TEST_F(GrpcIdentity, InABatchOnlyTheRequestsThatAreRefusedAre) {
  H2Peer& peer = connect();
  v1::CheckBatchRequest batch;
  for (const char* value : {"revoked", "fine", "revoked"}) add(*batch.add_requests(), "key", value);
  for (const bool later : {false, true}) {
    limiter.later = later;
    const auto answer =
        parsed<v1::CheckBatchResponse>(call(peer, "/weir.v1.Limiter/CheckBatch", batch.SerializeAsString()));
    ASSERT_EQ(answer.decisions_size(), 3);
    EXPECT_EQ(answer.decisions(0).reason(), v1::REASON_BLOCKED);
    EXPECT_EQ(answer.decisions(1).rule(), "per-user");
    EXPECT_EQ(answer.decisions(2).reason(), v1::REASON_BLOCKED);
  }
  add(*batch.add_requests(), "ip", "nowhere");
  const auto error = call(peer, "/weir.v1.Limiter/CheckBatch", batch.SerializeAsString());
  EXPECT_EQ(error.fields.at("grpc-message"), "requests[3].attributes.ip: is not an IP address");
}

TEST_F(GrpcIdentity, EnvoyIsToldOverLimit) {
  H2Peer& peer = connect();
  RateLimitRequest request;
  ASSERT_TRUE(request.ParseFromString(some_request()));
  auto& entry = *request.add_descriptors()->add_entries();
  entry.set_key("key");
  entry.set_value("revoked");
  const auto answer = parsed<RateLimitResponse>(call(peer, RlsService::kShouldRateLimit, request.SerializeAsString()));
  EXPECT_EQ(answer.overall_code(), RateLimitResponse::OVER_LIMIT);
  ASSERT_EQ(answer.statuses_size(), 2);
  EXPECT_EQ(answer.statuses(0).code(), RateLimitResponse::OK);
  EXPECT_EQ(answer.statuses(1).code(), RateLimitResponse::OVER_LIMIT);
  ASSERT_EQ(answer.response_headers_to_add_size(), 1);
  EXPECT_EQ(answer.response_headers_to_add(0).key(), "Weir-Status");
  EXPECT_EQ(answer.response_headers_to_add(0).value(), "403");
  EXPECT_THAT(limiter.asked, IsEmpty());
}

}  // namespace
}  // namespace weir::grpc
