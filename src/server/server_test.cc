#include "server/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/token_file.h"
#include "server/version.h"
#include "tests/support/log_file.h"

namespace weir::server {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

// One HTTP/1.1 exchange on a connection of its own; empty when the connection is refused.
class Caller {
 public:
  explicit Caller(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~Caller() { ::close(fd_); }

  bool connected() const { return connected_; }
  void send(const std::string& text) { ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Everything until the server closes.
  std::string rest() {
    std::string out;
    char buffer[65536];
    for (ssize_t n; (n = ::recv(fd_, buffer, sizeof buffer, 0)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
    return out;
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

std::string call(const std::string& address, const std::string& method, const std::string& target,
                 const std::string& body = "", const std::string& fields = "") {
  Caller caller(address);
  if (!caller.connected()) return "";
  caller.send(method + " " + target + " HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n" + fields +
              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return caller.rest();
}

int status_of(const std::string& answer) { return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3)); }

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weir-server-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    config_ = load_config({}).value();
    config_.listen_http = "127.0.0.1:0";
    config_.listen_admin = "127.0.0.1:0";
    config_.loops = 2;
    write_rules(2);
    config_.rules_path = folder_ / "rules.yaml";
  }
  void TearDown() override {
    server_.reset();
    fs::remove_all(folder_);
  }

  void write_rules(int limit) {
    std::ofstream(folder_ / "rules.yaml.new") << "version: 1\nrules:\n  - {id: per-tenant, per: [tenant], "
                                                 "algorithm: fixed-window, window: 3650d, limit: "
                                              << limit << "}\n";
    fs::rename(folder_ / "rules.yaml.new", folder_ / "rules.yaml");
  }
  Server& start() {
    Result<std::unique_ptr<Server>> made = Server::start(config_, clock_, log_.log());
    EXPECT_TRUE(made.ok()) << made.failure().message;
    server_ = std::move(made).value();
    return *server_;
  }
  Failure start_fails() {
    const Result<std::unique_ptr<Server>> made = Server::start(config_, clock_, log_.log());
    EXPECT_FALSE(made.ok());
    return made.ok() ? Failure{} : made.failure();
  }
  int check(const std::string& tenant) {
    return status_of(
        call(server_->address("http"), "POST", "/v1/check", "{\"attributes\":{\"tenant\":\"" + tenant + "\"}}"));
  }
  std::string metrics() { return call(server_->address("admin"), "GET", "/metrics"); }
  // Asks again and again until the scrape shows `text`; the test's own timeout is the bound.
  void await_metric(const std::string& text) {
    while (metrics().find(text) == std::string::npos) {
    }
  }

  fs::path folder_;
  Config config_;
  std::shared_ptr<ProcessClock> clock_ = std::make_shared<ProcessClock>();
  LogFile log_{*clock_};
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, ChecksOverHttpAndCountsThem) {
  start();
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 429);
  EXPECT_EQ(check("other"), 200);
  const std::string scrape = metrics();
  EXPECT_EQ(status_of(scrape), 200);
  EXPECT_THAT(scrape, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(scrape, HasSubstr("{rule=\"per-tenant\",algorithm=\"fixed-window\",outcome=\"allowed\"} 3\n"));
  EXPECT_THAT(scrape, HasSubstr("{rule=\"per-tenant\",algorithm=\"fixed-window\",outcome=\"denied\"} 1\n"));
  EXPECT_THAT(scrape, HasSubstr("weir_store_keys{store=\"memory\"} 2\n"));
  EXPECT_THAT(scrape, HasSubstr("weir_rules_loaded 1\n"));
  EXPECT_THAT(log_.text(),
              HasSubstr("\"event\":\"listening\",\"msg\":\"ready\",\"http\":\"" + server_->address("http") +
                        "\",\"grpc\":\"off\",\"resp\":\"off\",\"spop\":\"off\",\"admin\":\"" +
                        server_->address("admin") + "\""));
}

TEST_F(ServerTest, AResetForgetsWhatWasUsed) {
  start();
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 429);
  const std::string answer = call(server_->address("http"), "POST", "/v1/reset", R"({"attributes":{"tenant":"acme"}})");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_THAT(answer, HasSubstr("\"remaining\":2"));
  EXPECT_EQ(check("acme"), 200);
}

TEST_F(ServerTest, TheAdminSurfaceIsApartFromTheApi) {
  start();
  EXPECT_EQ(status_of(call(server_->address("http"), "GET", "/metrics")), 404);
  EXPECT_EQ(status_of(call(server_->address("admin"), "POST", "/v1/check", "{}")), 404);
  EXPECT_EQ(status_of(call(server_->address("http"), "GET", "/readyz")), 200);
  EXPECT_EQ(status_of(call(server_->address("admin"), "GET", "/healthz")), 200);
}

TEST_F(ServerTest, AnswersOfBothHttpListenersAreDated) {
  start();
  for (const char* listener : {"http", "admin"}) {
    for (const char* path : {"/healthz", "/nowhere"}) {
      const std::int64_t before = micros(clock_->now()) / 1'000'000;
      const std::string answer = call(server_->address(listener), "GET", path);
      const std::size_t at = answer.find("\r\nDate: ");
      ASSERT_NE(at, std::string::npos) << answer;
      std::tm parts{};
      ASSERT_NE(::strptime(answer.c_str() + at, "\r\nDate: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts), nullptr) << answer;
      EXPECT_GE(::timegm(&parts), before);
      EXPECT_LE(::timegm(&parts), micros(clock_->now()) / 1'000'000);
    }
  }
}

// Changed limits apply at once and buckets keep their state.
TEST_F(ServerTest, ReloadsWhenTheFileChangesAndOnRequest) {
  start();
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 429);
  write_rules(3);
  await_metric("weir_rules_reloads_total{result=\"success\"} 2\n");
  EXPECT_EQ(check("acme"), 200) << "one more, not three more";
  EXPECT_EQ(check("acme"), 429);
  write_rules(4);
  EXPECT_TRUE(server_->reload().ok());
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 429);
}

TEST_F(ServerTest, BadRulesAreVisibleToOperatorsAndTheLastGoodOnesStay) {
  start();
  EXPECT_EQ(check("acme"), 200);
  std::ofstream(folder_ / "rules.yaml") << "version: 1\nrules: [{id: secret-name, limt: 1}]\n";
  EXPECT_FALSE(server_->reload().ok());
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 429);
  EXPECT_THAT(metrics(), HasSubstr("weir_rules_current 0\n"));
  const std::string ready = call(server_->address("admin"), "GET", "/readyz");
  EXPECT_EQ(status_of(ready), 200);
  EXPECT_THAT(ready, HasSubstr(R"("rules":{"current":false,)"));
  EXPECT_THAT(ready, HasSubstr("limt"));
  EXPECT_THAT(call(server_->address("http"), "GET", "/readyz"), Not(HasSubstr("limt"))) << "no internals for callers";
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"rules_rejected\""));
}

TEST_F(ServerTest, DrainFinishesWhatIsBegunAndTakesNothingNew) {
  start();
  Caller begun(server_->address("http"));
  const std::string body = "{\"attributes\":{\"tenant\":\"acme\"}}";
  begun.send("POST /v1/check HTTP/1.1\r\nHost: weir\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n{");
  EXPECT_EQ(status_of(call(server_->address("http"), "GET", "/healthz")), 200) << "the loops are running";
  std::thread rest([&] { begun.send(body.substr(1)); });
  server_->drain();
  rest.join();
  EXPECT_EQ(status_of(begun.rest()), 200);
  EXPECT_FALSE(Caller(server_->address("http")).connected());
  server_->drain();
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"draining\""));
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"stopped\""));
}

TEST_F(ServerTest, ASnapshotCarriesLimitsOverARestart) {
  config_.memory_snapshot = folder_ / "buckets";
  start();
  EXPECT_EQ(check("acme"), 200);
  EXPECT_EQ(check("acme"), 200);
  server_->drain();
  server_.reset();
  EXPECT_TRUE(fs::exists(folder_ / "buckets.key"));
  start();
  EXPECT_EQ(check("acme"), 429);
  EXPECT_EQ(check("other"), 200);
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"snapshot_loaded\""));
}

TEST_F(ServerTest, ADamagedSnapshotIsReportedAndIgnored) {
  config_.memory_snapshot = folder_ / "buckets";
  std::ofstream(folder_ / "buckets") << "not a snapshot";
  start();
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"snapshot_ignored\""));
  EXPECT_EQ(check("acme"), 200);
}

TEST_F(ServerTest, ASnapshotThatIsNoRegularFileStopsTheStart) {
  config_.memory_snapshot = folder_ / "buckets";
  fs::create_directory(folder_ / "buckets");
  const Failure failure = start_fails();
  EXPECT_EQ(failure.code, Code::invalid_argument);
  EXPECT_EQ(failure.message,
            "memory.snapshot: " + (folder_ / "buckets").string() + ": is a directory, expected a regular file");
}

TEST_F(ServerTest, AnAddressInUseIsNamed) {
  config_.listen_http = start().address("http");
  config_.memory_snapshot = folder_ / "buckets";
  const Failure failure = start_fails();
  EXPECT_EQ(failure.code, Code::already_exists);
  EXPECT_THAT(failure.message, HasSubstr(config_.listen_http + " is in use"));
  EXPECT_THAT(failure.message, HasSubstr("--listen-http"));
  EXPECT_FALSE(fs::exists(folder_ / "buckets")) << "the other server's snapshot is not touched";
}

TEST_F(ServerTest, InvalidRulesStopTheStart) {
  std::ofstream(folder_ / "rules.yaml") << "rules: 3\n";
  const Failure failure = start_fails();
  EXPECT_EQ(failure.code, Code::invalid_argument);
  EXPECT_THAT(failure.message, HasSubstr("rules.yaml:1:"));
}

TEST_F(ServerTest, TokensGuardTheMetrics) {
  config_.admin_tokens = {"first-token", "second-token"};
  start();
  const std::string refused = metrics();
  EXPECT_EQ(status_of(refused), 401);
  EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_THAT(refused, Not(HasSubstr("weir_")));
  const auto with = [&](const std::string& value) {
    return status_of(call(server_->address("admin"), "GET", "/metrics", "", "Authorization: " + value + "\r\n"));
  };
  EXPECT_EQ(with("Bearer second-token"), 200);
  EXPECT_EQ(with("bearer first-token"), 200);
  EXPECT_EQ(with("Bearer first-toke"), 401);
  EXPECT_EQ(with("Bearer first-tokens"), 401);
  EXPECT_EQ(with("Bearer "), 401);
  EXPECT_EQ(with("Basic first-token"), 401);
  EXPECT_EQ(status_of(call(server_->address("admin"), "GET", "/healthz")), 200);
}

TEST_F(ServerTest, TokensGuardTheApiAndAreReloadedWithTheirFile) {
  std::ofstream(folder_ / "tokens") << token_hash_text("everything") << " ops\n"
                                    << token_hash_text("checks-only") << " gateway check\n";
  config_.http_tokens_file = folder_ / "tokens";
  start();
  const std::string body = R"({"attributes":{"tenant":"acme"}})";
  const auto ask = [&](const std::string& path, const std::string& fields) {
    return call(server_->address("http"), "POST", path, body, fields);
  };
  EXPECT_THAT(ask("/v1/check", ""), HasSubstr("a token is needed"));
  EXPECT_THAT(ask("/json", ""), HasSubstr("a token is needed"));
  EXPECT_THAT(ask("/v1/check", "Authorization: Bearer wrong\r\n"), HasSubstr("the token is not accepted"));
  EXPECT_EQ(status_of(ask("/v1/check", "Authorization: Bearer checks-only\r\n")), 200);
  EXPECT_EQ(status_of(ask("/v1/refund", "Authorization: Bearer checks-only\r\n")), 403);
  EXPECT_EQ(status_of(ask("/v1/refund", "Authorization: Bearer everything\r\n")), 200);
  EXPECT_THAT(ask("/v1/forward-auth", "Authorization: Bearer everything\r\n"), HasSubstr("X-Weir-Token"))
      << "what a gateway passes on is the client's";
  EXPECT_EQ(status_of(ask("/v1/forward-auth", "X-Weir-Token: checks-only\r\n")), 200);
  for (const char* open : {"/healthz", "/readyz", "/openapi.json"}) {
    EXPECT_EQ(status_of(call(server_->address("http"), "GET", open)), 200) << open;
  }
  std::ofstream(folder_ / "tokens") << "not-a-hash\n";
  EXPECT_FALSE(server_->reload().ok());
  EXPECT_EQ(status_of(ask("/v1/check", "X-Weir-Token: everything\r\n")), 200);
  EXPECT_THAT(call(server_->address("admin"), "GET", "/readyz"), HasSubstr(R"("tokens":{"current":false,"error":)"));
  std::ofstream(folder_ / "tokens") << token_hash_text("new") << "\n";
  EXPECT_TRUE(server_->reload().ok());
  EXPECT_EQ(status_of(ask("/v1/check", "X-Weir-Token: everything\r\n")), 401);
  EXPECT_EQ(status_of(ask("/v1/refund", "X-Weir-Token: new\r\n")), 200);
  EXPECT_THAT(metrics(), HasSubstr("listener=\"http\""));
}

TEST_F(ServerTest, ATokenFileThatCannotBeReadStopsTheStart) {
  config_.http_tokens_file = folder_ / "nowhere";
  EXPECT_THAT(start_fails().message, testing::StartsWith("http.tokens_file: "));
}

TEST_F(ServerTest, AListenerBeyondLoopbackWithoutCredentialsIsWarnedAbout) {
  config_.listen_http = "0.0.0.0:0";
  config_.listen_grpc = "127.0.0.1:0";
  start();
  EXPECT_THAT(log_.text(), HasSubstr(R"("event":"listener_unprotected")"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("listener":"http","address":")" + server_->address("http") +
                                     R"(","set":"http.tokens_file or tls.client_ca"})"));
  EXPECT_THAT(log_.text(), Not(HasSubstr(R"("listener":"grpc")"))) << "loopback needs no warning";
}

TEST_F(ServerTest, AListenerBeyondLoopbackWithTokensIsNotWarnedAbout) {
  std::ofstream(folder_ / "tokens") << token_hash_text("t") << "\n";
  config_.http_tokens_file = folder_ / "tokens";
  config_.listen_http = "0.0.0.0:0";
  start();
  EXPECT_THAT(log_.text(), Not(HasSubstr("listener_unprotected")));
}

TEST_F(ServerTest, AVariableThatSetsNothingIsWarnedAbout) {
  config_.unknown_variables = {{"WEIR_RULE", " (did you mean WEIR_RULES?)"}};
  start();
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"unknown_variable\",\"msg\":\"unknown environment variable: it sets "
                                     "nothing (did you mean WEIR_RULES?)\",\"variable\":\"WEIR_RULE\""));
}

TEST_F(ServerTest, TheQuickstartDeniesTheSixth) {
  config_.rules_path.clear();
  start();
  const std::string body = R"({"attributes":{"tenant":"acme","api_key":"demo"}})";
  const auto ask = [&] { return status_of(call(server_->address("http"), "POST", "/v1/check", body)); };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(), 200) << i;
  EXPECT_EQ(ask(), 429);
}

TEST_F(ServerTest, BodiesOverTheBoundAreRefused) {
  config_.http_body_bytes = 1024;
  start();
  EXPECT_EQ(status_of(call(server_->address("http"), "POST", "/v1/check", std::string(1025, ' '))), 413);
  EXPECT_EQ(status_of(call(server_->address("http"), "POST", "/v1/check/batch", std::string(1025, ' '))), 413);
}

TEST_F(ServerTest, ACheckAtTheBoundOfItsAttributesIsAnswered) {
  start();
  std::string body = R"({"attributes":{"tenant":")" + std::string(4096, 'v') + '"';
  for (int i = 1; i < 64; ++i) body += ",\"a" + std::to_string(i) + "\":\"" + std::string(4096, 'v') + '"';
  EXPECT_EQ(status_of(call(server_->address("http"), "POST", "/v1/check", body + "}}")), 200);
  EXPECT_EQ(status_of(call(server_->address("http"), "POST", "/v1/refund", body + "}}")), 200);
}

// With a hash key of its own a node starts without Redis, and its rules answer by their policies.
TEST_F(ServerTest, StartsWithoutRedisAndAnswersByPolicy) {
  config_.store = "redis://:secret@127.0.0.1:1";
  config_.hash_key_file = folder_ / "key";
  start();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(check("acme"), 200) << "the limit is 2, but nothing counts";
  const std::string ready = call(server_->address("admin"), "GET", "/readyz");
  EXPECT_EQ(status_of(ready), 200);
  EXPECT_THAT(ready, HasSubstr(R"("store":{"kind":"redis","state":"open","fallback_ms":)"));
  const std::string scrape = metrics();
  EXPECT_THAT(scrape, HasSubstr("weir_store_breaker_state 1\n"));
  EXPECT_THAT(scrape, HasSubstr("weir_store_calls_total 20\n"));
  EXPECT_THAT(scrape, HasSubstr("weir_degraded_decisions_total 20\n"));
  EXPECT_THAT(scrape, HasSubstr("weir_fallback_decisions_total{policy=\"allow\"} 20\n"));
  EXPECT_THAT(scrape, HasSubstr("weir_fallback_decisions_total{policy=\"deny\"} 0\n"));
  EXPECT_THAT(scrape, HasSubstr("weir_store_keys{store=\"fallback\"} 1\n"));
  server_->drain();
  EXPECT_THAT(log_.text(), HasSubstr("\"event\":\"store_unavailable\""));
  EXPECT_THAT(log_.text(), Not(HasSubstr("secret")));
}

// Requests wait on both loops for a Redis that takes connections and says nothing, and the server goes away.
TEST_F(ServerTest, EndsInGoodOrderWhileRedisOwesAnswers) {
  const int mute = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(mute, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(mute, 64), 0);
  ASSERT_EQ(::getsockname(mute, reinterpret_cast<sockaddr*>(&address), &size), 0);
  config_.store = "redis://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "?deadline=60s&connect_timeout=60s";
  config_.hash_key_file = folder_ / "key";
  config_.drain_timeout = std::chrono::milliseconds(0);
  start();
  std::vector<std::unique_ptr<Caller>> callers;
  const std::string body = "{\"attributes\":{\"tenant\":\"acme\"}}";
  for (int i = 0; i < 32; ++i) {
    callers.push_back(std::make_unique<Caller>(server_->address("http")));
    callers.back()->send("POST /v1/check HTTP/1.1\r\nHost: weir\r\nContent-Length: " + std::to_string(body.size()) +
                         "\r\n\r\n" + body);
  }
  await_metric("weir_store_calls_total 32\n");
  server_->drain();
  server_.reset();
  for (const auto& caller : callers) EXPECT_THAT(caller->rest(), Not(HasSubstr("200 OK")));
  ::close(mute);
}

TEST_F(ServerTest, MemoryShowsNothingOfAStoreOnTheNetwork) {
  start();
  EXPECT_THAT(metrics(), Not(HasSubstr("weir_store_breaker")));
  EXPECT_THAT(call(server_->address("admin"), "GET", "/readyz"), Not(HasSubstr("\"store\"")));
}

TEST_F(ServerTest, ListensOnUnixSocketsToo) {
  config_.listen_http = "unix:" + (folder_ / "http.sock").string();
  config_.listen_admin = "off";
  start();
  EXPECT_EQ(server_->address("http"), config_.listen_http);
  EXPECT_EQ(server_->address("admin"), "off");
  EXPECT_TRUE(fs::is_socket(folder_ / "http.sock"));
}

TEST(Version, IsTheOneThatCMakeKnows) {
  std::ostringstream text;
  text << std::ifstream(fs::path(WEIR_SOURCE_DIR) / "CMakeLists.txt").rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("project(weir VERSION " + std::string(kVersion) + " "));
}

}  // namespace
}  // namespace weir::server
