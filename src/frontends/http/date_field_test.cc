// The Date of answers: its text against gmtime, and that every kind of answer carries it.
#include "frontends/http/date_field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "frontends/http/api.h"
#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/recording_link.h"
#include "tests/support/test_client.h"
#include "tests/support/toy_limiter.h"

namespace weir::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using transport::TestClient;
using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000;

// The tests run in the C locale, where strftime's names are the ones of HTTP.
std::string expected(std::int64_t second) {
  const std::time_t time = second;
  std::tm parts{};
  char text[64];
  const std::size_t size =
      std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&time, &parts));
  return {text, size};
}

TEST(DateField, HasTheFormOfRfc9110) {
  auto clock = std::make_shared<ManualClock>(from_micros(784'111'777 * kSecond));
  EXPECT_EQ(DateField(clock).text(), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  clock->set(from_micros(951'782'400 * kSecond));
  EXPECT_EQ(DateField(clock).text(), "Date: Tue, 29 Feb 2000 00:00:00 GMT\r\n");
}

TEST(DateField, AgreesWithTheCalendarOfTheLibrary) {
  auto clock = std::make_shared<ManualClock>(from_micros(0));
  DateField date(clock);
  constexpr unsigned kSeed = 9110;
  std::mt19937_64 random(kSeed);
  std::uniform_int_distribution<std::int64_t> seconds(0, 253'402'300'799);  // to the end of the year 9999
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t second = seconds(random);
    clock->set(from_micros(second * kSecond + i));
    date.refresh();
    ASSERT_EQ(date.text(), expected(second)) << second << " with seed " << kSeed;
  }
}

TEST(DateField, IsTheWallClocksAlsoAfterItWasSetBack) {
  auto clock = std::make_shared<ManualClock>(from_micros(784'111'777 * kSecond));
  clock->set_ahead(2h);
  EXPECT_EQ(DateField(clock).text(), "Date: Sun, 06 Nov 1994 06:49:37 GMT\r\n");
}

TEST(DateField, KeepsItsTextUntilTheSecondIsOver) {
  auto clock = std::make_shared<ManualClock>(from_micros(784'111'777 * kSecond));
  DateField date(clock);
  clock->advance(999'999us);
  date.refresh();
  EXPECT_THAT(date.text(), HasSubstr("08:49:37"));
  clock->advance(1us);
  EXPECT_THAT(date.text(), HasSubstr("08:49:37"));
  date.refresh();
  EXPECT_THAT(date.text(), HasSubstr("08:49:38"));
}

class DatedAnswersTest : public testing::Test {
 protected:
  void start(transport::Limits limits = {}) {
    const auto bound = loops_.listen(
        {.endpoint = transport::parse_endpoint("127.0.0.1:0").value(),
         .limits = limits,
         .protocols = [&](std::size_t) { return http_protocols(make_api_router(limiter_, {}), {}, clock_); },
         .tls = nullptr});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  std::string ask(const std::string& request) {
    TestClient client(endpoint_);
    client.send(request);
    return client.read_response();
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(from_micros(784'111'777 * kSecond));
  ToyLimiter limiter_;
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

constexpr std::string_view kDate = "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
const std::string kCheck = "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 17\r\n\r\n{\"attributes\":{}}";

TEST_F(DatedAnswersTest, AnswersOfEveryKindCarryOneDate) {
  start();
  for (const std::string& request :
       {kCheck, std::string("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"),
        std::string("GET /openapi.json HTTP/1.0\r\n\r\n"), std::string("GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n"),
        std::string("GET /v1/check HTTP/1.1\r\nHost: h\r\n\r\n"), std::string("not HTTP\r\n\r\n")}) {
    const std::string response = ask(request);
    EXPECT_THAT(response, HasSubstr(kDate)) << request;
    EXPECT_EQ(response.find("Date:"), response.rfind("Date:")) << request;
  }
  limiter_.decide_by(ToyLimiter::denied);
  EXPECT_THAT(ask(kCheck), testing::AllOf(StartsWith("HTTP/1.1 429"), HasSubstr(kDate)));
}

TEST_F(DatedAnswersTest, AnAnswerThatComesLaterHasTheDateOfItsComing) {
  limiter_.defer();
  start();
  TestClient client(endpoint_);
  client.send(kCheck);
  ASSERT_TRUE(transport::eventually([&] { return limiter_.pending() == 1; }));
  clock_->advance(2s);
  limiter_.complete(0);
  EXPECT_THAT(client.read_response(), HasSubstr("\r\nDate: Sun, 06 Nov 1994 08:49:39 GMT\r\n"));
}

TEST_F(DatedAnswersTest, ATimeoutIsDatedToo) {
  start({.message_timeout = 20ms});
  TestClient client(endpoint_);
  client.send("GET /healthz HTTP/1.1\r\n");
  EXPECT_THAT(client.read_to_end(), testing::AllOf(StartsWith("HTTP/1.1 408"), HasSubstr(kDate)));
}

// What ends a request that never came to its end has the date of that moment and not of the request's first bytes.
TEST_F(DatedAnswersTest, AnswersWithoutARequestHaveTheDateOfTheirComing) {
  for (const bool timeout : {true, false}) {
    clock_->set(from_micros(784'111'777 * kSecond));
    transport::RecordingLink link;
    const auto protocol = http_protocols(make_api_router(limiter_, {}), {}, clock_)(link);
    protocol->on_bytes("GET /healthz HTTP/1.1\r\n");
    clock_->advance(2s);
    timeout ? protocol->on_timeout() : protocol->on_shortage();
    EXPECT_THAT(link.sent, testing::AllOf(StartsWith(timeout ? "HTTP/1.1 408" : "HTTP/1.1 503"),
                                          HasSubstr("\r\nDate: Sun, 06 Nov 1994 08:49:39 GMT\r\n")));
    EXPECT_TRUE(link.is_closed);
  }
}

TEST_F(DatedAnswersTest, AContinueIsNoAnswerAndHasNoDate) {
  start();
  TestClient client(endpoint_);
  client.send("POST /v1/check HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 17\r\n\r\n");
  EXPECT_EQ(client.read_response(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("{\"attributes\":{}}");
  EXPECT_THAT(client.read_response(), testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(kDate)));
}

}  // namespace
}  // namespace weir::http
