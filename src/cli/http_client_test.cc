#include "cli/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "cli/attribute_args.h"
#include "cli/decision_view.h"
#include "cli/latency.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;

// A server that reads one request for each of `answers` on one connection, answers, then closes; as often as told.
class Scripted {
 public:
  Scripted(std::vector<std::vector<std::string>> connections) : connections_(std::move(connections)) {
    path_ = std::filesystem::temp_directory_path() / ("weir-client-" + std::to_string(::getpid()) + ".sock");
    std::filesystem::remove(path_);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.native().copy(address.sun_path, sizeof address.sun_path - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~Scripted() {
    thread_.join();
    ::close(listener_);
    std::filesystem::remove(path_);
  }
  HttpClient client() const {
    return HttpClient(ServerAddress::parse("unix:" + path_.string()).value(), std::chrono::seconds(5));
  }

 private:
  void serve() {
    for (const std::vector<std::string>& answers : connections_) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      for (const std::string& answer : answers) {
        char buffer[4096];
        if (::recv(fd, buffer, sizeof buffer, 0) <= 0) break;
        ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      ::close(fd);
    }
  }
  std::filesystem::path path_;
  std::vector<std::vector<std::string>> connections_;
  int listener_ = -1;
  std::thread thread_;
};

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

TEST(HttpClient, KeepsItsConnectionAndOpensAClosedOneAgain) {
  Scripted server({{kOk, kOk}, {kOk}});
  HttpClient client = server.client();
  for (int i = 0; i < 3; ++i) {
    const Result<HttpAnswer> answer = client.post("/v1/check", "{}");
    ASSERT_TRUE(answer.ok()) << answer.failure().message;
    EXPECT_EQ(answer.value().status, 200);
    EXPECT_EQ(answer.value().body, "{}");
  }
}

TEST(HttpClient, RefusesWhatIsNotOurAnswer) {
  for (const std::string& answer :
       {std::string("SSH-2.0\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), std::string(70'000, 'x')}) {
    Scripted server({{answer}});
    HttpClient client = server.client();
    const Result<HttpAnswer> got = client.post("/", "");
    ASSERT_FALSE(got.ok()) << answer.substr(0, 60);
    EXPECT_EQ(got.failure().code, Code::internal);
  }
}

TEST(HttpClient, AnAnswerCutShortIsAFailureAndIsNotAskedTwice) {
  Scripted server({{kOk, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"}});
  HttpClient client = server.client();
  EXPECT_TRUE(client.post("/", "").ok());
  const Result<HttpAnswer> got = client.post("/", "");
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.failure().message, HasSubstr("closed the connection"));
}

TEST(ServerAddress, ReadsUrlsAndSockets) {
  EXPECT_EQ(ServerAddress::parse("http://127.0.0.1:8080/").value().port, "8080");
  EXPECT_EQ(ServerAddress::parse("weir.example:80").value().host, "weir.example");
  EXPECT_EQ(ServerAddress::parse("http://[::1]:8080").value().host, "::1");
  EXPECT_EQ(ServerAddress::parse("unix:/run/weir.sock").value().path, "/run/weir.sock");
  for (const char* text : {"", "http://", "host", "host:", "host:0", "host:99999", "http://host:80/path",
                           "unix:", "[::1]", "https://host:443", ":80"}) {
    EXPECT_FALSE(ServerAddress::parse(text).ok()) << text;
  }
  EXPECT_FALSE(ServerAddress::parse("unix:" + std::string(200, 'x')).ok());
}

TEST(AttributeArgs, RepeatedNamesBecomeOneList) {
  const AttributeArgs args = AttributeArgs::parse({"a=1", "key=x=\"y\"", "a=2", "empty="}).value();
  EXPECT_EQ(args.attributes().size(), 4u);
  EXPECT_EQ(args.check_body(3, true),
            R"({"attributes":{"a":["1","2"],"key":"x=\"y\"","empty":""},"cost":3,"peek":true})");
  EXPECT_EQ(AttributeArgs::parse({"k=a{}b{}"}).value().numbered(7).check_body(1, false),
            R"({"attributes":{"k":"a7b7"},"cost":1})");
  EXPECT_FALSE(AttributeArgs::parse(std::vector<std::string>(65, "a=b")).ok());
}

TEST(DecisionView, TellsAProblemFromADecisionFromNonsense) {
  EXPECT_TRUE(DecisionView::read(R"({"allowed":false,"reason":"limit_exceeded","retry_after_ms":1500})").ok());
  EXPECT_EQ(DecisionView::read(R"({"status":400,"detail":"cost: must not be negative"})").failure().message,
            "cost: must not be negative");
  EXPECT_EQ(DecisionView::read("{}").failure().code, Code::internal);
  EXPECT_EQ(DecisionView::read("<html>").failure().code, Code::internal);
  EXPECT_EQ(DecisionView::read("").failure().code, Code::internal);
}

TEST(Latencies, PercentilesAreWithinASixteenth) {
  Latencies all;
  for (int i = 1; i <= 100'000; ++i) all.add(i);
  for (const std::uint64_t per_mille : {1u, 500u, 900u, 999u}) {
    const auto exact = static_cast<double>(per_mille * 100);
    EXPECT_GE(static_cast<double>(all.percentile(per_mille)), exact);
    EXPECT_LE(static_cast<double>(all.percentile(per_mille)), exact * 1.0625);
  }
  EXPECT_EQ(Latencies().percentile(500), 0);
  Latencies small;
  small.add(7);
  EXPECT_EQ(small.percentile(500), 7);
  small.add(INT64_MAX);
  EXPECT_GT(small.percentile(1000), INT64_MAX / 2);
}

TEST(Duration, IsShownForPeople) {
  EXPECT_EQ(duration_for_people(250), "250 ms");
  EXPECT_EQ(duration_for_people(1500), "1.5 s");
  EXPECT_EQ(duration_for_people(2000), "2 s");
  EXPECT_EQ(duration_for_people(125'000), "2 min 5 s");
  EXPECT_EQ(duration_for_people(7'260'000), "2 h 1 min");
}

}  // namespace
}  // namespace weir::cli
