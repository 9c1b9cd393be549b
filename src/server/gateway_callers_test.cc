// Identity behind the hooks of the front ends, and what a live makes of files that change.
#include "server/gateway_callers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/log_file.h"
#include "tests/support/scratch_file.h"

namespace weir::server {
namespace {

using identity::ScratchFile;
using testing::HasSubstr;

class GatewayCallersTest : public testing::Test {
 protected:
  GatewayCallersTest() { EXPECT_TRUE(live_.load().ok()); }

  // Before the live is made: it watches the files that are named here.
  static Config with(const std::filesystem::path& revoked) {
    Config config;
    config.identity_trusted_proxies = {"127.0.0.1"};
    config.identity_ipv4_prefix = 32;
    config.identity_ipv6_prefix = 64;
    config.identity_jwt_header = "authorization";
    config.identity_attributes = {{"api_key", "header:x-api-key"}};
    config.identity_revoked_keys_file = revoked;
    return config;
  }
  // The status of the refusal, or 200.
  int forward_auth(std::vector<http::HttpField> fields) {
    http::HttpRequest request;
    request.method = "GET";
    request.path = "/v1/forward-auth";
    request.fields = fields;
    http::Caller caller;
    transport::Peer peer;
    peer.address = "127.0.0.1";
    const auto refusal = callers_.read(request, peer, caller);
    return refusal ? refusal->status : 200;
  }
  int spop(std::string_view src, std::vector<http::HttpField> headers = {}) {
    spop::ClientRequest request;
    request.src = src;
    request.method = "GET";
    request.uri = "/";
    request.headers = headers;
    http::Caller caller;
    const auto refusal = callers_.read(request, caller);
    return refusal ? refusal->status : 200;
  }

  const ScratchFile revoked_{"sk_leaked\n"};
  ManualClock clock_;
  LogFile log_{clock_};
  const Config config_ = with(revoked_.path());
  LiveIdentity live_{config_, {}, log_.log()};
  GatewayCallers callers_{live_, clock_, log_.log()};
};

TEST_F(GatewayCallersTest, MalformedIs400AndRefusedCredentialsAre401) {
  EXPECT_EQ(forward_auth({{"X-Api-Key", "fine"}}), 200);
  EXPECT_EQ(forward_auth({{"X-Api-Key", "a"}, {"X-Api-Key", "b"}}), 400);
  EXPECT_EQ(forward_auth({{"X-Api-Key", "sk_leaked"}}), 401);
  EXPECT_EQ(spop("203.0.113.9", {{"x-api-key", "fine"}}), 200);
  EXPECT_EQ(spop("203.0.113.9", {{"x-api-key", "a"}, {"x-api-key", "b"}}), 400);
  EXPECT_EQ(spop("203.0.113.9", {{"host", "a"}, {"host", "b"}}), 400);
  EXPECT_EQ(spop("203.0.113.9", {{"x-api-key", "sk_leaked"}}), 401);
  EXPECT_EQ(live_.refused(identity::Refusal::Kind::malformed), 3U);
  EXPECT_EQ(live_.refused(identity::Refusal::Kind::blocked), 2U);
}

// Without an address a client would be a local peer, and those may speak for others.
TEST_F(GatewayCallersTest, AClientWithoutAnAddressIsRefused) {
  EXPECT_EQ(spop(""), 400);
  EXPECT_EQ(spop("nonsense"), 400);
}

TEST_F(GatewayCallersTest, FollowsTheFilesAndKeepsTheLastGoodOnes) {
  EXPECT_EQ(forward_auth({{"X-Api-Key", "sk_fine"}}), 200);
  const std::uint64_t before = live_.version();
  revoked_.write("sk_fine\n");
  EXPECT_TRUE(live_.reload().ok());
  EXPECT_NE(live_.version(), before);
  EXPECT_EQ(forward_auth({{"X-Api-Key", "sk_fine"}}), 401) << "callers that exist take the new list";
  EXPECT_EQ(forward_auth({{"X-Api-Key", "sk_leaked"}}), 200);
  revoked_.write(std::string(5000, 'k'));
  EXPECT_FALSE(live_.reload().ok());
  EXPECT_THAT(live_.last_error(), HasSubstr("expected an API key of at most"));
  EXPECT_EQ(forward_auth({{"X-Api-Key", "sk_fine"}}), 401);
  revoked_.write("");
  EXPECT_TRUE(live_.reload().ok());
  EXPECT_EQ(live_.last_error(), "") << "what was wrong is fixed";
  EXPECT_EQ(forward_auth({{"X-Api-Key", "sk_fine"}}), 200);
}

}  // namespace
}  // namespace weir::server
