#include "server/gateway_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/config.h"
#include "tests/support/log_file.h"

namespace weir::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using Result = GatewayTimeCounts::Result;

TEST(IngressTimeText, ReadsWhatGatewaysWrite) {
  const TimePoint time = from_micros(1'700'000'000'123'456);
  EXPECT_EQ(parse_ingress_time("1700000000.123456"), time);
  EXPECT_EQ(parse_ingress_time("t=1700000000.123456"), time);
  EXPECT_EQ(parse_ingress_time("1700000000.123456789"), time);
  EXPECT_EQ(parse_ingress_time("1700000000.123"), time - 456us);
  EXPECT_EQ(parse_ingress_time("1700000000.1"), time - 23'456us);
  EXPECT_EQ(parse_ingress_time("1700000000"), time - 123'456us);
  EXPECT_EQ(parse_ingress_time("1700000000123"), time - 456us);
  EXPECT_EQ(parse_ingress_time("t=1700000000123456"), time);
  EXPECT_EQ(parse_ingress_time("99999999999"), from_micros(99'999'999'999'000'000));
  EXPECT_EQ(parse_ingress_time("0"), TimePoint{});
}

TEST(IngressTimeText, RefusesEverythingElse) {
  for (const char* text : {"",
                           "t=",
                           ".",
                           "1.",
                           ".5",
                           "-1",
                           "+1",
                           " 1700000000",
                           "1700000000 ",
                           "1700000000,5",
                           "1e9",
                           "0x10",
                           "T=1700000000",
                           "t=t=1",
                           "1700000000.1234567890",
                           "170000000012",
                           "17000000001234",
                           "170000000012345",
                           "17000000001234567",
                           "123456789012.5",
                           "1700000000123.5",
                           "now",
                           "99999999999999999999999999",
                           "1700000000.12a",
                           "17000000a0"}) {
    EXPECT_EQ(parse_ingress_time(text), std::nullopt) << text;
  }
}

class GatewayTimeTest : public testing::Test {
 protected:
  GatewayTimeTest() { EXPECT_TRUE(live_.load().ok()); }

  TimePoint read(std::string_view value, const std::string& peer = "127.0.0.1", std::size_t count = 1) {
    return times_.read(count, value, {.address = peer, .port = 1, .tls = false, .alpn = {}});
  }
  static std::string text(TimePoint time) { return std::to_string(micros(time)); }

  ManualClock clock_{from_micros(1'700'000'000'000'000)};
  LogFile log_{clock_};
  Config config_ = load_config({}).value();
  keys::KeyRing keys_;
  LiveIdentity live_{config_, keys_, log_.log()};
  GatewayTimeCounts counts_;
  GatewayTime times_{{.field = "x-request-start", .bound = 5s}, live_, clock_, log_.log(), counts_};
};

TEST_F(GatewayTimeTest, IsBelievedWithinItsBoundOfTheWallClock) {
  clock_.set_ahead(2h);  // bucket time is not what gateways know
  const TimePoint wall = clock_.wall();
  for (const Duration off : {Duration(0), Duration(5s), Duration(-5s), Duration(1us)}) {
    EXPECT_EQ(read(text(wall + off)), wall + off);
  }
  EXPECT_EQ(counts_.of(Result::used), 4u);
  EXPECT_EQ(read(text(wall + 5s + 1us)), TimePoint{});
  EXPECT_EQ(read(text(wall - 5s - 1us)), TimePoint{});
  EXPECT_EQ(counts_.of(Result::out_of_bounds), 2u);
  EXPECT_THAT(log_.text(), HasSubstr("out_of_bounds"));
}

TEST_F(GatewayTimeTest, IsBelievedFromTrustedProxiesOnly) {
  const std::string now = text(clock_.wall());
  EXPECT_EQ(read(now, "192.0.2.1"), TimePoint{});
  EXPECT_EQ(read(now, "127.0.0.1"), clock_.wall());
  EXPECT_EQ(read(now, "192.0.2.1"), TimePoint{});
  EXPECT_EQ(read(now, ""), clock_.wall()) << "a Unix socket";
  EXPECT_EQ(read("nonsense", "192.0.2.1"), TimePoint{});
  EXPECT_EQ(counts_.of(Result::untrusted), 3u);
  EXPECT_EQ(counts_.of(Result::used), 2u);
  EXPECT_THAT(log_.text(), Not(HasSubstr("192.0.2.1")));
}

TEST_F(GatewayTimeTest, FollowsAChangeOfTheTrustedProxies) {
  const std::string now = text(clock_.wall());
  EXPECT_EQ(read(now, "192.0.2.1"), TimePoint{});
  config_.identity_trusted_proxies = {"192.0.2.0/24"};
  ASSERT_TRUE(live_.load().ok());
  EXPECT_EQ(read(now, "192.0.2.1"), clock_.wall());
}

TEST_F(GatewayTimeTest, FallsBackToOurOwnClockAndCountsWhy) {
  EXPECT_EQ(read("", "127.0.0.1", 0), TimePoint{});
  EXPECT_EQ(read("", "192.0.2.1", 0), TimePoint{}) << "no time was sent, so none was refused";
  EXPECT_EQ(read("yesterday"), TimePoint{});
  EXPECT_EQ(read(text(clock_.wall()), "127.0.0.1", 2), TimePoint{}) << "two times are none";
  EXPECT_EQ(counts_.of(Result::missing), 2u);
  EXPECT_EQ(counts_.of(Result::unreadable), 2u);
  EXPECT_EQ(counts_.of(Result::used), 0u);
  EXPECT_EQ(times_.read_trusted(1, text(clock_.wall())), clock_.wall());
}

TEST_F(GatewayTimeTest, LogsEachCauseOnceInAWhile) {
  const auto lines = [this] {
    const std::string all = log_.text();
    return std::count(all.begin(), all.end(), '\n');
  };
  for (int i = 0; i < 1000; ++i) read("nonsense");
  EXPECT_EQ(lines(), 1);
  for (int i = 0; i < 1000; ++i) read("", "127.0.0.1", 0);
  EXPECT_EQ(lines(), 2);
  clock_.advance(GatewayTimeCounts::kLogPeriod - 1us);
  read("nonsense");
  EXPECT_EQ(lines(), 2);
  clock_.advance(1us);
  read("nonsense");
  EXPECT_EQ(lines(), 3);
  EXPECT_EQ(counts_.of(Result::unreadable), 1002u);
}

TEST(GatewayTimeSettings, TheFieldIsComparedInLowerCase) {
  Config config = load_config({}).value();
  config.redis_time_header = "X-Request-Start";
  const GatewayTimeOptions options = gateway_time_options(config);
  EXPECT_EQ(options.field, "x-request-start");
  EXPECT_EQ(options.bound, 5s);
}

TEST(GatewayTimeFacts, AreShownOnlyWhereGatewaysTellTheTime) {
  GatewayTimeCounts counts;
  counts.add(Result::used);
  counts.add(Result::out_of_bounds);
  EXPECT_TRUE(gateway_time_facts(false, counts).empty());
  const auto facts = gateway_time_facts(true, counts);
  ASSERT_EQ(facts.size(), 5u);
  EXPECT_EQ(facts[0].result, "used");
  EXPECT_EQ(facts[0].count, 1u);
  EXPECT_EQ(facts[1].count, 0u);
  EXPECT_EQ(facts[4].result, "out_of_bounds");
  EXPECT_EQ(facts[4].count, 1u);
}

}  // namespace
}  // namespace weir::server
