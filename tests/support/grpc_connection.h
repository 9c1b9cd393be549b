// GrpcConnection: what the tests of gRPC over raw frames have in common: a peer, a limiter and a clock that they set.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "tests/support/h2_peer.h"

namespace weir::grpc {

inline constexpr std::uint32_t kCancel = NGHTTP2_CANCEL;
inline constexpr std::uint32_t kCalm = NGHTTP2_ENHANCE_YOUR_CALM;

inline std::string some_request() {
  ::envoy::service::ratelimit::v3::RateLimitRequest request;
  request.set_domain("shop");
  auto& entry = *request.add_descriptors()->add_entries();
  entry.set_key("user");
  entry.set_value("ann");
  return request.SerializeAsString();
}

class GrpcConnection : public testing::Test {
 protected:
  GrpcConnection() {
    limiter.answer = toy_decision("per-user", 10, 9, std::chrono::minutes(1));
    options.clock = clock;
    options.ready = [this] { return ready; };
  }
  H2Peer& connect(std::string_view settings = {}) {
    peer_ = std::make_unique<H2Peer>(limiter, options);
    peer_->greet(settings);
    return *peer_;
  }
  // SETTINGS_INITIAL_WINDOW_SIZE = 0: the peer takes nothing of an answer until it says so.
  H2Peer& connect_without_window() { return connect(big_endian(4, 2) + big_endian(0, 4)); }
  std::string status_of(H2Peer& peer, std::int32_t stream) {
    return peer.receive_answers()[stream].fields["grpc-status"];
  }
  // The last frame must be a GOAWAY for this reason, and the connection closed.
  void expect_ended(H2Peer& peer, std::uint32_t error) {
    const std::vector<Frame> frames = peer.receive();
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.back().type, NGHTTP2_GOAWAY);
    EXPECT_EQ(frames.back().error(), error);
    EXPECT_TRUE(peer.link->closed());
  }
  // Sends `piece` until the connection is closed; fails after `most`.
  std::size_t send_until_closed(H2Peer& peer, const std::string& piece, std::size_t most) {
    std::size_t sent = 0;
    while (!peer.link->closed() && sent < most) {
      peer.send(piece);
      ++sent;
    }
    EXPECT_TRUE(peer.link->closed()) << "after " << sent;
    return sent;
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  ToyLimiter limiter;
  GrpcOptions options;
  bool ready = true;

 private:
  std::unique_ptr<H2Peer> peer_;
};

}  // namespace weir::grpc
