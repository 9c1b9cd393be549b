// grpc++ from Debian, an unmodified client, against our server on real sockets, plain and with TLS.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"
#include "frontends/grpc/grpc_server.h"
#include "frontends/transport/loops.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "weir/limiter.h"
#include "weir/v1/limiter.grpc.pb.h"

namespace {

namespace pb = ::envoy::service::ratelimit::v3;
namespace health = ::grpc::health::v1;

weir::Rules some_rules() {
  weir::Rule rule;
  rule.id = "per-user";
  rule.match = {{"domain", {"shop"}}};
  rule.per = {"user"};
  rule.allowance.algorithm = weir::Algorithm::fixed_window;
  rule.allowance.limit = 1000;
  rule.allowance.window = std::chrono::hours(24 * 365);
  weir::Rules rules;
  rules.rules.push_back(rule);
  return rules;
}

pb::RateLimitRequest ask_about(const std::string& user) {
  pb::RateLimitRequest request;
  request.set_domain("shop");
  auto& entry = *request.add_descriptors()->add_entries();
  entry.set_key("user");
  entry.set_value(user);
  return request;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Two loops, so that connections land on either.
class Server {
 public:
  explicit Server(weir::transport::ListenOptions listen = {}) {
    listen.protocols = [this](std::size_t) { return weir::grpc::grpc_protocols(*limiter_, {}); };
    if (listen.endpoint.kind == weir::transport::Endpoint::Kind::off) {
      listen.endpoint = weir::transport::parse_endpoint("127.0.0.1:0").value();
    }
    const auto bound = loops_.listen(listen);
    EXPECT_TRUE(bound.ok()) << bound.failure().message;
    address_ = bound.value().text();
    loops_.start();
  }
  const std::string& address() const { return address_; }
  weir::transport::Loops& loops() { return loops_; }

 private:
  std::unique_ptr<weir::Limiter> limiter_ = weir::Limiter::create(some_rules()).value();
  weir::transport::Loops loops_{2};
  std::string address_;
};

std::shared_ptr<::grpc::Channel> plain(const std::string& address) {
  return ::grpc::CreateChannel(address, ::grpc::InsecureChannelCredentials());
}

TEST(GrpcppClient, IsAnsweredWithStatusLimitAndHeaders) {
  Server server;
  const auto stub = pb::RateLimitService::NewStub(plain(server.address()));
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  pb::RateLimitResponse response;
  const ::grpc::Status status = stub->ShouldRateLimit(&context, ask_about("ann"), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.overall_code(), pb::RateLimitResponse::OK);
  ASSERT_EQ(response.statuses_size(), 1);
  EXPECT_EQ(response.statuses(0).current_limit().unit(), pb::RateLimitResponse::RateLimit::YEAR);
  EXPECT_EQ(response.statuses(0).limit_remaining(), 999U);
  EXPECT_EQ(response.response_headers_to_add_size(), 2);
}

TEST(GrpcppClient, CountsEveryCallOfManyThreadsOnce) {
  Server server;
  constexpr int kThreads = 4;
  constexpr int kCalls = 300;
  std::vector<std::thread> threads;
  std::atomic<int> admitted{0};
  std::atomic<int> failed{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto stub = pb::RateLimitService::NewStub(plain(server.address()));
      for (int call = 0; call < kCalls; ++call) {
        ::grpc::ClientContext context;
        pb::RateLimitResponse response;
        if (!stub->ShouldRateLimit(&context, ask_about("bob"), &response).ok()) ++failed;
        if (response.overall_code() == pb::RateLimitResponse::OK) ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(admitted, 1000);
}

TEST(GrpcppClient, ReachesUnixSockets) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir-grpc-" + std::to_string(getpid()) + ".sock");
  weir::transport::ListenOptions listen;
  listen.endpoint = weir::transport::parse_endpoint("unix:" + path.string()).value();
  Server server(listen);
  const auto stub = ::weir::v1::Limiter::NewStub(plain("unix:" + path.string()));
  ::weir::v1::CheckRequest request;
  request.add_attributes()->set_name("domain");
  request.mutable_attributes(0)->set_value("shop");
  request.add_attributes()->set_name("user");
  request.mutable_attributes(1)->set_value("ann");
  ::weir::v1::CheckResponse response;
  ::grpc::ClientContext context;
  ASSERT_TRUE(stub->Check(&context, request, &response).ok());
  EXPECT_EQ(response.decision().remaining(), 999);
}

TEST(GrpcppClient, SpeaksTlsWithAlpn) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weir-grpc-tls-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string make =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout " +
      (folder / "key.pem").string() + " -out " + (folder / "cert.pem").string() +
      " -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const auto tls = weir::transport::TlsContext::create(
      {.certificate_chain = folder / "cert.pem", .private_key = folder / "key.pem", .client_ca = {}, .alpn = {"h2"}});
  ASSERT_TRUE(tls.ok()) << tls.failure().message;
  weir::transport::ListenOptions listen;
  listen.tls = tls.value();
  Server server(listen);
  ::grpc::SslCredentialsOptions credentials;
  credentials.pem_root_certs = text_of(folder / "cert.pem");
  ::grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("localhost");
  const auto stub = health::Health::NewStub(
      ::grpc::CreateCustomChannel(server.address(), ::grpc::SslCredentials(credentials), arguments));
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  health::HealthCheckResponse response;
  const ::grpc::Status status = stub->Check(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.status(), health::HealthCheckResponse::SERVING);
  std::filesystem::remove_all(folder);
}

TEST(GrpcppClient, HearsThatTheServerLeaves) {
  Server server;
  const auto channel = plain(server.address());
  const auto stub = health::Health::NewStub(channel);
  ::grpc::ClientContext context;
  const auto watch = stub->Watch(&context, {});
  health::HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), health::HealthCheckResponse::SERVING);
  std::thread leaving([&] { server.loops().drain(std::chrono::milliseconds(500)); });
  EXPECT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), health::HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), ::grpc::StatusCode::UNAVAILABLE);
  leaving.join();
}

}  // namespace
