#include "cli/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <sstream>
#include <thread>

#include "cli/attribute_args.h"
#include "cli/decision_view.h"
#include "cli/latency.h"
#include "cli/load.h"
#include "cli/server_call.h"
#include "cli/subject_mix.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;

// A server that reads one request for each of `answers` on one connection, answers, then closes, for each list of
// answers.
class Scripted {
 public:
  explicit Scripted(std::vector<std::vector<std::string>> connections, std::function<void()> before_answer = {})
      : connections_(std::move(connections)), before_answer_(std::move(before_answer)) {
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
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
    std::filesystem::remove(path_);
  }
  ServerTarget target() const {
    ServerTarget target;
    target.address = ServerAddress::parse("unix:" + path_.string()).value();
    target.timeout = std::chrono::seconds(5);
    return target;
  }
  // What clients sent. Precondition: every connection has ended.
  std::string received() {
    thread_.join();
    return received_;
  }
  HttpClient client() const { return HttpClient(target()); }

 private:
  void serve() {
    for (const std::vector<std::string>& answers : connections_) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      for (const std::string& answer : answers) {
        char buffer[4096];
        const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        received_.append(buffer, static_cast<std::size_t>(got));
        if (before_answer_) before_answer_();
        ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      ::close(fd);
    }
  }
  std::filesystem::path path_;
  std::vector<std::vector<std::string>> connections_;
  const std::function<void()> before_answer_;
  int listener_ = -1;
  std::string received_;
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
  EXPECT_THAT(got.failure().message, HasSubstr("the connection was closed"));
}

TEST(ServerAddress, ReadsUrlsAndSockets) {
  EXPECT_EQ(ServerAddress::parse("http://127.0.0.1:8080/").value().port, "8080");
  EXPECT_EQ(ServerAddress::parse("weir.example:80").value().host, "weir.example");
  EXPECT_EQ(ServerAddress::parse("http://[::1]:8080").value().host, "::1");
  EXPECT_FALSE(ServerAddress::parse("http://[::1]:8080").value().tls);
  EXPECT_TRUE(ServerAddress::parse("https://weir.example").value().tls);
  EXPECT_EQ(ServerAddress::parse("https://weir.example").value().port, "443");
  EXPECT_EQ(ServerAddress::parse("https://[::1]").value().host, "::1");
  EXPECT_EQ(ServerAddress::parse("https://[::1]:8443/").value().port, "8443");
  EXPECT_EQ(ServerAddress::parse("unix:/run/weir.sock").value().path, "/run/weir.sock");
  for (const char* text : {"", "http://", "host", "host:", "host:0", "host:99999", "http://host:80/path", "unix:",
                           "[::1]", "[::1", "[", "ftp://host:80", "https://", "https://host:", "https://[::1", ":80"}) {
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

TEST(Columns, CountWhatATerminalShows) {
  EXPECT_EQ(columns_of("per-tenant"), 10u);
  EXPECT_EQ(columns_of("größe"), 5u);
  EXPECT_EQ(columns_of("e\u0301te"), 3u) << "a combining accent takes no column";
  EXPECT_EQ(columns_of("検索"), 4u);
  EXPECT_EQ(columns_of("🚀"), 2u);
  EXPECT_EQ(padded("検索", 6), "検索  ");
  EXPECT_EQ(padded("long", 2), "long");
}

TEST(DecisionView, AlignsColumnsWhateverTheIdsAndTheColours) {
  const Result<DecisionView> view = DecisionView::read(
      R"({"allowed":true,"reason":"ok","rules":[)"
      R"({"rule":"検索","algorithm":"gcra","mode":"enforce","allowed":true,"limit":120,"remaining":199,"capacity":200,)"
      R"("window_ms":60000,"retry_after_ms":0,"reset_after_ms":1000,"subject":"9c41d2e07b5a"},)"
      R"({"rule":"größe","algorithm":"leaky-bucket","mode":"shadow","allowed":false,"limit":5,"remaining":0,"capacity":4,)"
      R"("window_ms":1000,"retry_after_ms":500,"reset_after_ms":1448340000},)"
      R"({"rule":"all","algorithm":"gcra","mode":"enforce","allowed":true,"limit":null,"remaining":null}]})");
  ASSERT_TRUE(view.ok());
  std::ostringstream out;
  std::ostringstream err;
  view.value().show(Terminal{out, err});
  EXPECT_EQ(out.str(),
            "allowed\n"
            "  allowed     検索   gcra                  199 of 200 left (limit 120 per 60 s, burst 200)  full again in "
            "1 s           "
            "                    subject 9c41d2e07b5a\n"
            "  would deny  größe  leaky-bucket, shadow  0 of 4 left (limit 5 per 1 s, queue 3)           "
            "retry after 500 ms, full again in 16 days 19 h\n"
            "  allowed     all    gcra                  unlimited\n");
  std::ostringstream coloured;
  view.value().show(Terminal{coloured, err, true});
  EXPECT_THAT(coloured.str(), HasSubstr("\x1b[33mwould deny\x1b[0m  größe  leaky-bucket"));
  EXPECT_THAT(coloured.str(), HasSubstr("\x1b[32mallowed\x1b[0m     検索   gcra"));
}

TEST(DecisionView, ShowsAnOlderServersAnswerWithoutACapacity) {
  const Result<DecisionView> view = DecisionView::read(
      R"({"allowed":true,"reason":"ok","rules":[{"rule":"a","algorithm":"gcra","mode":"enforce","allowed":true,)"
      R"("limit":120,"remaining":199}]})");
  std::ostringstream out;
  std::ostringstream err;
  view.value().show(Terminal{out, err});
  EXPECT_THAT(out.str(), HasSubstr("199 left (limit 120)"));
}

TEST(SubjectMix, IsEvenRandomOrHot) {
  const auto counts = [](std::string_view kind) {
    const SubjectMix mix(kind, 100);
    std::vector<int> times(100);
    for (std::uint64_t n = 0; n < 100'000; ++n) ++times.at(mix.pick(n));
    return times;
  };
  EXPECT_EQ(counts("even"), std::vector<int>(100, 1000));
  const std::vector<int> random = counts("random");
  EXPECT_GT(*std::min_element(random.begin(), random.end()), 800);
  EXPECT_LT(*std::max_element(random.begin(), random.end()), 1200);
  const std::vector<int> hot = counts("hot");
  EXPECT_NEAR(hot[0], 100'000 / 5.187, 600) << "1/H(100) of all";
  EXPECT_NEAR(hot[9], hot[0] / 10, 250);
  EXPECT_EQ(SubjectMix("hot", 1).pick(7), 0u);
}

TEST(HttpClient, SendsTheToken) {
  Scripted server({{kOk}});
  {
    ServerTarget target = server.target();
    target.token = "secret";
    HttpClient client(target);
    ASSERT_TRUE(client.post("/v1/check", "{}").ok());
  }
  EXPECT_THAT(server.received(), HasSubstr("\r\nAuthorization: Bearer secret\r\n"));
}

TEST(Ask, ExplainsAnswersThatAreNoDecision) {
  const auto failure_of = [](int status, const std::string& body) {
    return refusal_of({status, body}, "POST /v1/reset");
  };
  EXPECT_EQ(failure_of(400, R"({"detail":"cost: must not be negative"})").code, Code::invalid_argument);
  EXPECT_EQ(failure_of(400, R"({"detail":"cost: must not be negative"})").message, "cost: must not be negative");
  EXPECT_EQ(failure_of(401, R"({"detail":"no token"})").message, "the server requires a valid token: no token");
  EXPECT_EQ(hint_for(failure_of(401, "")), "--token-file FILE or WEIR_TOKEN gives one");
  EXPECT_EQ(failure_of(404, "").message, "the server has no POST /v1/reset; is it an older version?");
  EXPECT_EQ(failure_of(200, "<html>").code, Code::internal);
  EXPECT_EQ(failure_of(502, "").message, "the server answered with status 502");
}

class ManualTime : public LoadTime {
 public:
  TimePoint now() override { return from_micros(micros_.load()); }
  void sleep(Duration duration) override { micros_ += duration.count(); }

 private:
  std::atomic<std::int64_t> micros_{1'000'000};
};

LoadPlan plan_for(const Scripted& server, double rate) {
  return {.target = server.target(),
          .bodies = {"{}"},
          .mix = SubjectMix("even", 1),
          .connections = 1,
          .duration = std::chrono::seconds(1),
          .rate = rate};
}

const std::string kDenied = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\n{}";
const std::string kBroken = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\n{}";

TEST(Load, SendsAtTheRateAndCountsFailuresApart) {
  ManualTime time;
  Scripted server({{kOk, kDenied, kBroken, kOk}});
  const LoadResult result = run_load(plan_for(server, 4), time, {});
  EXPECT_EQ(result.allowed, 2u);
  EXPECT_EQ(result.denied, 1u);
  EXPECT_EQ(result.failed, 1u);
  EXPECT_EQ(result.unsent, 0u);
  EXPECT_EQ(result.latencies.total(), 3u) << "a failure has no latency";
  EXPECT_EQ(result.latencies.largest(), 0) << "each was sent when it was due";
  EXPECT_EQ(result.first_failure.message, "the server answered with status 500");
}

TEST(Load, LatenciesCountFromTheTimeARequestWasDue) {
  ManualTime time;
  int answers = 0;
  // The first answer takes 600 ms, so requests 1 (due at 250 ms) and 2 (500 ms) are late although they are answered at
  // once; request 3 (750 ms) is not.
  Scripted server({{kOk, kOk, kOk, kOk}}, [&] {
    if (answers++ == 0) time.sleep(std::chrono::milliseconds(600));
  });
  const LoadResult result = run_load(plan_for(server, 4), time, {});
  EXPECT_EQ(result.allowed, 4u);
  EXPECT_EQ(result.latencies.largest(), 600'000);
  EXPECT_NEAR(static_cast<double>(result.latencies.percentile(750)), 350'000, 350'000 / 16.0);
  EXPECT_NEAR(static_cast<double>(result.latencies.percentile(500)), 100'000, 100'000 / 16.0);
  EXPECT_EQ(result.latencies.percentile(250), 0);
}

TEST(Load, RequestsThatNoConnectionWasFreeForAreUnsent) {
  ManualTime time;
  Scripted server({{kOk}}, [&] { time.sleep(std::chrono::seconds(2)); });
  const LoadResult result = run_load(plan_for(server, 4), time, {});
  EXPECT_EQ(result.allowed, 1u);
  EXPECT_EQ(result.unsent, 3u);
}

TEST(Load, AConnectionGivesUpAfterTenFailuresInARow) {
  ManualTime time;
  std::vector<std::string> answers(9, kBroken);
  answers.push_back(kOk);
  answers.insert(answers.end(), 10, kBroken);
  Scripted server({answers});
  const LoadResult result = run_load(plan_for(server, 0), time, {});
  EXPECT_EQ(result.failed, 19u);
  EXPECT_EQ(result.allowed, 1u);
}

}  // namespace
}  // namespace weir::cli
