#include "simulate/json_line.h"

#include <gtest/gtest.h>

#include "simulate/log_test_support.h"

namespace weir::simulate {
namespace {

TEST(JsonLine, ReadsCaddysLog) {
  const ParsedLine line(
      LogFormat::json,
      R"({"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request",)"
      R"("request":{"remote_ip":"10.0.0.9","remote_port":"41342","client_ip":"203.0.113.9","proto":"HTTP/2.0",)"
      R"("method":"GET","host":"shop.example","uri":"/v1/items/7?x=1","headers":{"User-Agent":["curl/7.82.0"],)"
      R"("X-Tenant":["acme"]}},"user_id":"ann","duration":0.0009,"size":10900,"status":429})",
      {{"request.headers.X-Tenant", "tenant"}, {"user_id", "user"}});
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.time, from_micros(1'646'861'401'524'102));
  EXPECT_EQ(line.record.address, "203.0.113.9");
  EXPECT_EQ(line.record.method, "GET");
  EXPECT_EQ(line.record.target, "/v1/items/7?x=1");
  EXPECT_EQ(line.record.host, "shop.example");
  EXPECT_EQ(line.record.status, 429);
  EXPECT_EQ(line.header("User-Agent"), "curl/7.82.0");
  EXPECT_EQ(line.field("request.headers.X-Tenant"), "acme");
  EXPECT_EQ(line.field("user_id"), "ann");
}

TEST(JsonLine, ReadsTraefiksLog) {
  const ParsedLine line(
      LogFormat::json,
      R"({"ClientAddr":"192.0.2.1:5000","ClientHost":"192.0.2.1","DownstreamStatus":200,)"
      R"("RequestHost":"app.example","RequestMethod":"PUT","RequestPath":"/a","StartUTC":"2025-01-01T00:00:00.5Z",)"
      R"("request_X-Api-Key":"k1","time":"2025-01-01T01:00:00+01:00"})");
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.time, from_micros(1'735'689'600'500'000));
  EXPECT_EQ(line.record.address, "192.0.2.1");
  EXPECT_EQ(line.record.method, "PUT");
  EXPECT_EQ(line.header("X-Api-Key"), "k1");
}

TEST(JsonLine, ReadsEnvoysLog) {
  const ParsedLine line(
      LogFormat::json,
      R"({"start_time":"2025-01-01T00:00:00.500Z","method":"GET","path":"/","authority":"svc","response_code":200,)"
      R"("x_forwarded_for":"203.0.113.9","downstream_remote_address":"[2001:db8::1]:4711"})");
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.address, "2001:db8::1");
  EXPECT_EQ(line.record.forwarded, "203.0.113.9");
  EXPECT_EQ(line.record.host, "svc");
}

TEST(JsonLine, TakesMappedMembersForWhatTheyAreSaidToBe) {
  const ParsedLine line(
      LogFormat::json, R"({"when":1735689600,"who":{"id":7},"verb":"GET","link":"/x","units":3,"on":true})",
      {{"when", "time"}, {"who.id", "user"}, {"verb", "method"}, {"link", "path"}, {"units", "cost"}, {"on", "beta"}});
  ASSERT_EQ(line.wrong, "");
  EXPECT_EQ(line.record.method, "GET");
  EXPECT_EQ(line.record.target, "/x");
  EXPECT_EQ(line.record.cost, "3");
  EXPECT_EQ(line.field("who.id"), "7");
  EXPECT_EQ(line.field("on"), "true");
}

TEST(JsonLine, FindsANameThatContainsADot) {
  const ParsedLine line(LogFormat::json, R"({"time":1735689600,"client.id":"a"})", {{"client.id", "user"}});
  EXPECT_EQ(line.field("client.id"), "a");
}

TEST(JsonLine, SaysWhatIsWrongWithALine) {
  EXPECT_EQ(ParsedLine(LogFormat::json, "[1]").wrong, "is not a JSON object");
  EXPECT_EQ(ParsedLine(LogFormat::json, R"({"time":)").wrong, "is not valid JSON");
  EXPECT_NE(ParsedLine(LogFormat::json, R"({"a":1})").wrong.find("has no time"), std::string::npos);
  EXPECT_EQ(ParsedLine(LogFormat::json, R"({"time":"soon"})").wrong, "has a time that is not valid");
}

}  // namespace
}  // namespace weir::simulate
