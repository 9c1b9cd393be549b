#include "simulate/text_lines.h"

#include <gtest/gtest.h>

#include <string>

#include "simulate/log_format.h"
#include "simulate/log_test_support.h"

namespace weir::simulate {
namespace {

constexpr const char* kCombined =
    R"(192.0.2.7 - frank [10/Oct/2025:13:55:36 -0700] "GET /v1/search?q=%22a%22 HTTP/1.1" 200 2326 "https://example.org/" "curl/8.0 \"x\"")";
constexpr const char* kEnvoy =
    R"([2025-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "203.0.113.9,10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80")";
constexpr const char* kHaproxy =
    R"(Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2025:12:14:14.655] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu|key} {} "GET /index.html HTTP/1.1")";

TEST(CommonLine, ReadsACombinedLine) {
  const ParsedLine line(LogFormat::common, kCombined);
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.address, "192.0.2.7");
  EXPECT_EQ(line.record.method, "GET");
  EXPECT_EQ(line.record.target, "/v1/search?q=%22a%22");
  EXPECT_EQ(line.record.status, 200);
  EXPECT_EQ(line.record.time, from_micros(1'760'129'736'000'000));  // 2025-10-10T20:55:36Z
  EXPECT_EQ(line.field("user"), "frank");
  EXPECT_EQ(line.field("bytes"), "2326");
  EXPECT_EQ(line.field("referer"), "https://example.org/");
  EXPECT_EQ(line.field("user_agent"), R"(curl/8.0 \"x\")");
}

TEST(CommonLine, ReadsACommonLineWithDashes) {
  const ParsedLine line(LogFormat::common, R"(::1 - - [01/Jan/2025:00:00:00 +0000] "HEAD / HTTP/1.0" 304 -)");
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.address, "::1");
  EXPECT_EQ(line.field("user"), "");
  EXPECT_EQ(line.field("bytes"), "");
}

TEST(CommonLine, TakesAThirdTextInQuotationMarksForForwardedFor) {
  const ParsedLine line(
      LogFormat::common,
      R"(10.0.0.1 - - [01/Jan/2025:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "ua" "203.0.113.5, 10.0.0.2")");
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.forwarded, "203.0.113.5, 10.0.0.2");
}

TEST(CommonLine, ReadsTheVirtualHostOfApache) {
  const ParsedLine line(
      LogFormat::common,
      R"(shop.example:443 192.0.2.1 - - [01/Jan/2025:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "ua")");
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.host, "shop.example");
  EXPECT_EQ(line.record.address, "192.0.2.1");
}

TEST(CommonLine, ReadsWhatTraefikWritesBehindTheUserAgent) {
  const ParsedLine line(
      LogFormat::common,
      R"(172.18.0.1 - ann [01/Jan/2025:00:00:00 +0000] "GET /whoami HTTP/1.1" 200 370 "-" "curl" 7 "whoami@docker" "http://172.18.0.3:80" 2ms)");
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.field("router"), "whoami@docker");
  EXPECT_EQ(line.field("server"), "http://172.18.0.3:80");
  EXPECT_EQ(line.field("duration"), "2ms");
}

TEST(CommonLine, SaysWhatIsWrongWithALine) {
  EXPECT_NE(ParsedLine(LogFormat::common, "hello").wrong.find("has no time"), std::string::npos);
  EXPECT_NE(ParsedLine(LogFormat::common, R"(a - - [31/Feb/2025:00:00:00 +0000] "GET / HTTP/1.1" 200 5)")
                .wrong.find("time that is not valid"),
            std::string::npos);
  EXPECT_NE(ParsedLine(LogFormat::common, R"(a - - [01/Jan/2025:00:00:00 +0000] "\x16\x03" 400 5)")
                .wrong.find("has no request"),
            std::string::npos);
  EXPECT_NE(ParsedLine(LogFormat::common, R"(a - - [01/Jan/2025:00:00:00 +0000] "GET / HTTP/1.1" two)")
                .wrong.find("has no status"),
            std::string::npos);
}

TEST(EnvoyLine, ReadsTheDefaultFormat) {
  const ParsedLine line(LogFormat::envoy, kEnvoy);
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.time, from_micros(1'744'748'220'310'000));
  EXPECT_EQ(line.record.method, "POST");
  EXPECT_EQ(line.record.target, "/api/v1/locations");
  EXPECT_EQ(line.record.forwarded, "203.0.113.9,10.0.35.28");
  EXPECT_EQ(line.record.host, "locations");
  EXPECT_EQ(line.field("request_id"), "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2");
  EXPECT_EQ(line.field("duration"), "226");
}

TEST(EnvoyLine, SkipsTheDetailsOfAnAnswerThatNewerVersionsWrite) {
  const ParsedLine line(
      LogFormat::envoy,
      R"([2025-04-15T20:17:00.310Z] "GET / HTTP/1.1" 503 UF upstream_reset_before_response_started{x} - "-" 0 91 12 - "-" "ua" "id" "host" "-")");
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.host, "host");
  EXPECT_EQ(line.field("user_agent"), "ua");
}

TEST(HaproxyLine, ReadsHttplogWithWhatSyslogPutsBeforeIt) {
  const ParsedLine line(LogFormat::haproxy, kHaproxy);
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.address, "10.0.1.2");
  EXPECT_EQ(line.record.time, from_micros(1'738'844'054'655'000));
  EXPECT_EQ(line.record.target, "/index.html");
  EXPECT_EQ(line.field("frontend"), "http-in");
  EXPECT_EQ(line.field("backend"), "static");
  EXPECT_EQ(line.field("captured"), "1wt.eu|key");
}

TEST(HaproxyLine, ReadsAddressesBeforeTheLastColon) {
  const std::string rest =
      R"( [18/Nov/2026:14:55:30.709] fe be/s1 0/0/0/0/0 200 97 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.1")";
  for (const auto& [written, address] : {std::pair<std::string, std::string>{"::1:37338", "::1"},
                                         {"::1:5060", "::1"},
                                         {"2001:db8::7:443", "2001:db8::7"},
                                         {"::ffff:192.0.2.1:37338", "::ffff:192.0.2.1"},
                                         {"[2001:db8::7]:443", "2001:db8::7"},
                                         {"192.0.2.1:80", "192.0.2.1"},
                                         {"Nov 18 14:55:30 lb haproxy[7]: fe80::1:1024", "fe80::1"}}) {
    const ParsedLine line(LogFormat::haproxy, written + rest);
    ASSERT_EQ(line.wrong, "");
    EXPECT_EQ(line.record.address, address) << written;
    EXPECT_EQ(line.field("remote_addr"), address);
  }
}

TEST(HaproxyLine, ReadsTimesInTheZoneThatIsGiven) {
  const ParsedLine line(LogFormat::haproxy, kHaproxy, {}, base::TimeZone::load("Europe/Berlin").value());
  EXPECT_EQ(line.record.time, from_micros(1'738'844'054'655'000) - std::chrono::hours(1));
}

TEST(LogFormats, AreDetected) {
  const std::string caddy = R"({"ts":1646861401.52,"request":{"remote_ip":"127.0.0.1","method":"GET","uri":"/"}})";
  for (const auto& [text, format] : {std::pair<std::string, LogFormat>{kCombined, LogFormat::common},
                                     {kEnvoy, LogFormat::envoy},
                                     {kHaproxy, LogFormat::haproxy},
                                     {caddy, LogFormat::json}}) {
    const std::string room = text + std::string(kLinePadding, '\0');
    const std::string_view line(room.data(), text.size());
    EXPECT_EQ(detect_format(std::span(&line, 1), base::TimeZone::utc(), {}), format) << text;
  }
  const std::string room = "hello" + std::string(kLinePadding, '\0');
  const std::string_view line(room.data(), 5);
  EXPECT_EQ(detect_format(std::span(&line, 1), base::TimeZone::utc(), {}), std::nullopt);
}

TEST(LogTimes, OfEveryFormAreRead) {
  const base::TimeZone& utc = *base::TimeZone::utc();
  const TimePoint expected = from_micros(1'735'689'600'500'000);  // 2025-01-01T00:00:00.5Z
  for (const char* text : {"2025-01-01T00:00:00.5Z", "2025-01-01 00:00:00,500", "2025-01-01T02:00:00.500+02:00",
                           "2024-12-31T19:30:00.5-0430", "01/Jan/2025:00:00:00.500", "1735689600.5", "1735689600500",
                           "1735689600500000", "1735689600500000000"}) {
    EXPECT_EQ(parse_log_time(text, utc), expected) << text;
  }
  for (const char* text :
       {"", "yesterday", "2025-13-01T00:00:00Z", "2025-01-01T24:00:00Z", "-5", "1e9x", "2025-01-01T00:00:00+9"}) {
    EXPECT_EQ(parse_log_time(text, utc), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weir::simulate
