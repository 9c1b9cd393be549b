// Leases and reservations over gRPC with toy limiters, read and written by protobuf: what is asked, and every field
// that clients see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/h2_peer.h"
#include "tests/support/request_identity.h"
#include "tests/support/toy_limiter.h"
#include "weir/v1/limiter.pb.h"

namespace weir::grpc {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class HoldServices : public testing::Test {
 protected:
  H2Peer::Answer call(const std::string& method, const std::string& message) {
    if (peer_ == nullptr) {
      peer_ = std::make_unique<H2Peer>(limiter_, options_);
      peer_->greet();
    }
    stream_ += 2;
    peer_->send_call(stream_, "/weir.v1.Limiter/" + method, grpc_message(message));
    return peer_->receive_answers()[stream_];
  }
  template <typename Response, typename Request>
  Response ask(const std::string& method, const Request& request) {
    return parsed<Response>(call(method, request.SerializeAsString()));
  }
  // "3: what is wrong"
  template <typename Request>
  std::string refusal(const std::string& method, const Request& request) {
    const H2Peer::Answer answer = call(method, request.SerializeAsString());
    return answer.fields.at("grpc-status") + ": " + answer.fields.at("grpc-message");
  }
  template <typename Response>
  static Response parsed(const H2Peer::Answer& answer) {
    Response response;
    EXPECT_EQ(answer.fields.at("grpc-status"), "0");
    EXPECT_TRUE(response.ParseFromString(answer.body.substr(5)));
    return response;
  }
  template <typename Request>
  static Request about(const char* name, const char* value) {
    Request request;
    auto& attribute = *request.add_attributes();
    attribute.set_name(name);
    attribute.set_value(value);
    return request;
  }
  std::string asked_of_leases() { return limiter_.leases()->asked().back(); }
  std::string asked_of_reservations() { return limiter_.reservations()->asked().back(); }

  http::ToyLimiter limiter_;
  GrpcOptions options_;

 private:
  std::unique_ptr<H2Peer> peer_;
  std::int32_t stream_ = -1;
};

TEST_F(HoldServices, ALeaseIsAcquiredRenewedAndReleased) {
  auto acquire = about<v1::AcquireRequest>("tenant", "acme");
  acquire.set_cost(2);
  acquire.set_ttl_ms(30'000);
  acquire.set_id("job-7");
  const auto given = ask<v1::AcquireResponse>("Acquire", acquire);
  EXPECT_EQ(asked_of_leases(), "acquire tenant=acme cost=2 ttl=30000ms id=job-7");
  EXPECT_TRUE(given.decision().allowed());
  EXPECT_EQ(given.decision().rule(), "exports-active");
  EXPECT_EQ(given.lease().lease(), "toy-lease");
  EXPECT_EQ(given.lease().fencing_token(), 1'800'000'000'000'000U);
  EXPECT_EQ(given.lease().expires_at_ms(), 1'800'000'030'000);
  EXPECT_EQ(given.lease().ttl_ms(), 30'000);
  EXPECT_TRUE(given.lease().created());

  v1::RenewRequest renew;
  renew.set_lease("toy-lease");
  renew.set_ttl_ms(10);
  const auto renewed = ask<v1::RenewResponse>("Renew", renew);
  EXPECT_EQ(asked_of_leases(), "renew handle=toy-lease ttl=10ms");
  EXPECT_TRUE(renewed.decision().allowed());
  EXPECT_EQ(renewed.lease().lease(), "toy-lease");
  EXPECT_FALSE(renewed.lease().created());

  v1::ReleaseRequest release;
  release.set_lease("toy-lease");
  EXPECT_EQ(call("Release", release.SerializeAsString()).body, std::string(5, '\0')) << "an empty message";
  EXPECT_EQ(asked_of_leases(), "release handle=toy-lease");
}

TEST_F(HoldServices, ADeniedLeaseIsADecisionWithoutALease) {
  limiter_.leases()->answer_by(http::ToyLeases::denied);
  const auto denied = ask<v1::AcquireResponse>("Acquire", about<v1::AcquireRequest>("tenant", "acme"));
  EXPECT_EQ(asked_of_leases(), "acquire tenant=acme cost=1");
  EXPECT_FALSE(denied.decision().allowed());
  EXPECT_EQ(denied.decision().reason(), v1::REASON_CONCURRENCY_EXCEEDED);
  EXPECT_FALSE(denied.has_lease());
}

TEST_F(HoldServices, ReservationsAreMadeWithEveryOption) {
  auto reserve = about<v1::ReserveRequest>("tenant", "acme");
  const auto estimated = ask<v1::ReserveResponse>("Reserve", reserve);
  EXPECT_EQ(asked_of_reservations(), "reserve tenant=acme cost=1");
  EXPECT_EQ(estimated.reservation().estimated(), 100);
  reserve.set_cost(3);
  reserve.set_ttl_ms(60'000);
  reserve.set_id("job");
  reserve.set_amount(0);
  reserve.set_partial(true);
  ask<v1::ReserveResponse>("Reserve", reserve);
  EXPECT_EQ(asked_of_reservations(), "reserve tenant=acme cost=3 amount=0 ttl=60000ms partial id=job");
  reserve.set_partial(false);
  reserve.set_dry_run(true);
  ask<v1::ReserveResponse>("Reserve", reserve);
  EXPECT_EQ(asked_of_reservations(), "reserve tenant=acme cost=3 amount=0 ttl=60000ms dry_run id=job");
}

TEST_F(HoldServices, ReservationsAreSettledAndExtended) {
  v1::CommitRequest commit;
  commit.set_reservation("h");
  commit.set_actual(9);
  EXPECT_EQ(ask<v1::CommitResponse>("Commit", commit).reservation().state(), v1::RESERVATION_STATE_COMMITTED);
  EXPECT_EQ(asked_of_reservations(), "commit handle=h actual=9");
  v1::ReleaseReservationRequest release;
  release.set_reservation("h");
  EXPECT_EQ(ask<v1::ReleaseReservationResponse>("ReleaseReservation", release).reservation().state(),
            v1::RESERVATION_STATE_RELEASED);
  EXPECT_EQ(asked_of_reservations(), "release handle=h");
  v1::ExtendReservationRequest extend;
  extend.set_reservation("h");
  extend.set_ttl_ms(20);
  EXPECT_EQ(ask<v1::ExtendReservationResponse>("ExtendReservation", extend).reservation().state(),
            v1::RESERVATION_STATE_OPEN);
  EXPECT_EQ(asked_of_reservations(), "extend handle=h ttl=20ms");
  extend.set_add(4);
  extend.set_partial(true);
  ask<v1::ExtendReservationResponse>("ExtendReservation", extend);
  EXPECT_EQ(asked_of_reservations(), "extend handle=h amount=4 ttl=20ms partial");
}

TEST_F(HoldServices, EveryFieldOfAReservationIsWritten) {
  ReservationAnswer full;
  full.handle = "h";
  full.id = std::string_view("i");
  full.granted = 4;
  full.expires = from_micros(5'999);
  full.estimated = 6;
  full.actual = 7;
  full.returned = 8;
  full.debt = 9;
  full.uncharged = 10;
  full.fencing_token = 11;
  full.created = true;
  full.replayed = true;
  limiter_.reservations()->answer_by([&full](const ReservationQuestion&) { return full; });
  v1::CommitRequest commit;
  const auto open = ask<v1::CommitResponse>("Commit", commit).reservation();
  EXPECT_EQ(open.reservation(), "h");
  EXPECT_EQ(open.id(), "i");
  EXPECT_EQ(open.state(), v1::RESERVATION_STATE_OPEN);
  EXPECT_EQ(open.granted(), 4);
  EXPECT_EQ(open.expires_at_ms(), 5);
  EXPECT_EQ(open.estimated(), 6);
  EXPECT_EQ(open.actual(), 7);
  EXPECT_EQ(open.returned(), 8);
  EXPECT_EQ(open.debt(), 9);
  EXPECT_EQ(open.uncharged(), 10);
  EXPECT_EQ(open.fencing_token(), 11U);
  EXPECT_TRUE(open.created());
  EXPECT_TRUE(open.replayed());
  full.state = ReservationState::expired;
  full.fencing_token.reset();
  const auto closed = ask<v1::CommitResponse>("Commit", commit).reservation();
  EXPECT_EQ(closed.state(), v1::RESERVATION_STATE_EXPIRED);
  EXPECT_EQ(closed.expires_at_ms(), 0) << "it is over";
  EXPECT_EQ(closed.fencing_token(), 0U);
}

TEST_F(HoldServices, OnlyWhatTakesUnitsCanBeDenied) {
  limiter_.reservations()->answer_by([](const ReservationQuestion& question) {
    ReservationAnswer answer = http::ToyReservations::granted(question);
    answer.decision.allowed = false;
    return answer;
  });
  const auto reserve = about<v1::ReserveRequest>("tenant", "acme");
  EXPECT_FALSE(ask<v1::ReserveResponse>("Reserve", reserve).has_reservation());
  EXPECT_FALSE(
      ask<v1::ExtendReservationResponse>("ExtendReservation", v1::ExtendReservationRequest()).has_reservation());
  EXPECT_TRUE(ask<v1::CommitResponse>("Commit", v1::CommitRequest()).has_reservation());
  EXPECT_TRUE(
      ask<v1::ReleaseReservationResponse>("ReleaseReservation", v1::ReleaseReservationRequest()).has_reservation());
}

TEST_F(HoldServices, EveryFaultHasAStatusAndItsMessage) {
  const std::pair<HoldFault, const char*> kFaults[] = {
      {HoldFault::invalid, "3"},  {HoldFault::forged, "5"},     {HoldFault::gone, "9"}, {HoldFault::closed, "9"},
      {HoldFault::running, "10"}, {HoldFault::other_body, "3"}, {HoldFault::full, "8"}, {HoldFault::unavailable, "14"}};
  static_assert(std::size(kFaults) == kHoldFaultCount - 1);
  for (const auto& [fault, status] : kFaults) {
    limiter_.leases()->answer_by([fault = fault](const LeaseQuestion&) {
      LeaseAnswer answer;
      answer.fault = fault;
      answer.message = "why";
      return answer;
    });
    limiter_.reservations()->answer_by([fault = fault](const ReservationQuestion&) {
      ReservationAnswer answer;
      answer.fault = fault;
      answer.message = "why";
      return answer;
    });
    EXPECT_EQ(refusal("Renew", v1::RenewRequest()), std::string(status) + ": why");
    EXPECT_EQ(refusal("Commit", v1::CommitRequest()), std::string(status) + ": why");
  }
}

TEST_F(HoldServices, WhatCannotBeReadAsksNothing) {
  constexpr std::int64_t kMost = 86'400'000;
  v1::RenewRequest renew;
  for (const std::int64_t wrong : {std::int64_t{-1}, kMost + 1}) {
    renew.set_ttl_ms(wrong);
    const std::string expected = "3: ttl_ms: is " + std::to_string(wrong) + ", expected 10 to 86400000";
    EXPECT_EQ(refusal("Renew", renew), expected);
    auto acquire = about<v1::AcquireRequest>("tenant", "acme");
    acquire.set_ttl_ms(wrong);
    EXPECT_EQ(refusal("Acquire", acquire), expected);
    auto reserve = about<v1::ReserveRequest>("tenant", "acme");
    reserve.set_ttl_ms(wrong);
    EXPECT_EQ(refusal("Reserve", reserve), expected);
    v1::ExtendReservationRequest extend;
    extend.set_ttl_ms(wrong);
    EXPECT_EQ(refusal("ExtendReservation", extend), expected);
  }
  const std::string broken = "\x0a\x05x";
  for (const char* method :
       {"Acquire", "Renew", "Release", "Reserve", "Commit", "ReleaseReservation", "ExtendReservation"}) {
    EXPECT_EQ(call(method, broken).fields.at("grpc-status"), "3") << method;
  }
  EXPECT_EQ(call("Renew", "\x0a\x01\xff").fields.at("grpc-status"), "3") << "a text that is not UTF-8";
  EXPECT_THAT(limiter_.leases()->asked(), IsEmpty());
  EXPECT_THAT(limiter_.reservations()->asked(), IsEmpty());
  renew.set_ttl_ms(kMost);
  ask<v1::RenewResponse>("Renew", renew);
  EXPECT_THAT(asked_of_leases(), HasSubstr("ttl=86400000ms"));
}

TEST_F(HoldServices, IdentityReplacesTheAttributesOfWhatTakesUnits) {
  options_.identity = std::make_shared<transport::ToyRequestIdentity>();
  ask<v1::AcquireResponse>("Acquire", about<v1::AcquireRequest>("ip", "a"));
  EXPECT_EQ(asked_of_leases(), "acquire ip=net(a) made=yes cost=1");
  ask<v1::ReserveResponse>("Reserve", about<v1::ReserveRequest>("ip", "b"));
  EXPECT_EQ(asked_of_reservations(), "reserve ip=net(b) made=yes cost=1");
  const auto lease = ask<v1::AcquireResponse>("Acquire", about<v1::AcquireRequest>("key", "revoked"));
  EXPECT_EQ(lease.decision().reason(), v1::REASON_BLOCKED);
  EXPECT_FALSE(lease.has_lease());
  const auto reservation = ask<v1::ReserveResponse>("Reserve", about<v1::ReserveRequest>("key", "revoked"));
  EXPECT_EQ(reservation.decision().reason(), v1::REASON_BLOCKED);
  EXPECT_FALSE(reservation.has_reservation());
  const std::string malformed = "3: attributes.ip: is not an IP address";
  EXPECT_EQ(refusal("Acquire", about<v1::AcquireRequest>("ip", "nowhere")), malformed);
  EXPECT_EQ(refusal("Reserve", about<v1::ReserveRequest>("ip", "nowhere")), malformed);
  EXPECT_EQ(limiter_.leases()->asked().size(), 1U);
  EXPECT_EQ(limiter_.reservations()->asked().size(), 1U);
}

}  // namespace
}  // namespace weir::grpc
