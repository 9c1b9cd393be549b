// The bodies of /v1/usage: which are reports and which are CloudEvents, what each holds, and what is refused.
#include "frontends/http/usage_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weir/allowance.h"
#include "weir/hold.h"

namespace weir::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kReport = R"({"attributes":{"tenant":"acme"},"amount":3,"id":"job-17"})";
constexpr const char* kEvent =
    R"({"specversion":"1.0","id":"17","source":"/jobs","type":"x","data":{"attributes":{"tenant":"acme"},"amount":3}})";
constexpr const char* kOne = "application/cloudevents+json";
constexpr const char* kBatch = "application/cloudevents-batch+json";

std::string describe(const UsageReport& report) {
  std::string text;
  for (const Attribute& each : report.request.attributes) {
    text += std::string(each.name) + "=" + std::string(each.value) + " ";
  }
  text += "amount=" + std::to_string(report.amount);
  if (!report.id.empty()) text += " id=" + std::string(report.id);
  if (report.at != TimePoint{}) text += " at=" + std::to_string(micros(report.at));
  return text;
}

// What was read, or why not.
std::string read(const char* type, const std::string& text) {
  UsageBody body;
  const Status status = body.read(type, text);
  if (!status.ok()) return "refused: " + status.failure().message;
  std::string all;
  for (const UsageReport& report : body.reports()) all += describe(report) + "; ";
  return all;
}
std::string report(const std::string& text) { return read("application/json", text); }
// An event with these members beside or in place of those that it needs.
std::string event(const std::string& members) { return read(kOne, "{" + members + "}"); }

TEST(UsageBody, KnowsTheTypeOfABodyWhateverItsCase) {
  UsageBody body;
  for (const char* type :
       {"application/cloudevents+json", "Application/CloudEvents+JSON", "APPLICATION/CLOUDEVENTS+JSON; charset=UTF-8",
        "application/cloudevents+json ;charset=utf-8"}) {
    EXPECT_TRUE(body.read(type, kEvent).ok()) << type;
    ASSERT_EQ(body.reports().size(), 1U) << type;
    EXPECT_FALSE(body.read(type, kReport).ok()) << type;
  }
  for (const char* type : {"application/cloudevents-batch+json", "Application/CloudEvents-Batch+JSON"}) {
    EXPECT_TRUE(body.read(type, "[" + std::string(kEvent) + "]").ok()) << type;
    EXPECT_EQ(body.reports().size(), 1U) << type;
  }
  for (const char* type : {"application/json", "Application/JSON"}) {
    EXPECT_TRUE(body.read(type, kReport).ok()) << type;
    EXPECT_FALSE(body.read(type, kEvent).ok()) << type;
  }
}

TEST(UsageBody, ReadsAReport) {
  EXPECT_EQ(report(kReport), "tenant=acme amount=3 id=job-17; ");
  EXPECT_EQ(report(R"({"attributes":{}})"), "amount=1; ");
  EXPECT_EQ(report(R"({"at":"1970-01-01T00:00:01Z","amount":0,"attributes":{"a":["x","y"]}})"),
            "a=x a=y amount=0 at=1000000; ");
  EXPECT_EQ(report(R"({"attributes":{},"amount":)" + std::to_string(kMaxUnits) + "}"), "amount=1000000000000; ");
}

TEST(UsageBody, ReadsAnEventWhoseIdIsItsSourceAndId) {
  EXPECT_EQ(read(kOne, kEvent), "tenant=acme amount=3 id=/jobs\n17; ");
  EXPECT_EQ(event(R"("specversion":"1.0","source":"s","id":"1","time":"1970-01-01T00:00:02Z","data":{"attributes":{}},)"
                  R"("subject":["an","extension"])"),
            "amount=1 id=s\n1 at=2000000; ");
}

TEST(UsageBody, ReadsABatchInOrder) {
  const auto one = [](const std::string& id) {
    return R"({"specversion":"1.0","id":")" + id + R"(","source":"s","data":{"attributes":{"n":")" + id + R"("}}})";
  };
  EXPECT_EQ(read(kBatch, "[" + one("1") + "," + one("2") + "]"), "n=1 amount=1 id=s\n1; n=2 amount=1 id=s\n2; ");
  EXPECT_EQ(read(kBatch, "[]"), "");
  std::string events = one("1");
  for (std::size_t i = 1; i < kMaxUsageEvents; ++i) events += "," + one("x");
  UsageBody body;
  EXPECT_TRUE(body.read(kBatch, "[" + events + "]").ok());
  EXPECT_EQ(body.reports().size(), kMaxUsageEvents);
  EXPECT_EQ(describe(body.reports().front()), "n=1 amount=1 id=s\n1");
  EXPECT_EQ(read(kBatch, "[" + events + "," + one("x") + "]"), "refused: the batch has more than 1000 events");
  EXPECT_THAT(read(kBatch, "[" + one("1") + ",7]"), StartsWith("refused: [1]."));
  EXPECT_THAT(read(kBatch, "[" + one("1") + R"(,{"specversion":"1.0"}])"),
              StartsWith("refused: [1].source: is missing"));
  EXPECT_EQ(read(kBatch, "7"), "refused: the body must be an array of CloudEvents");
}

TEST(UsageBody, RefusesReportsAndNamesTheMember) {
  const struct {
    std::string body;
    const char* why;
  } kForms[] = {
      {"", "the body is empty"},
      {"[]", "the body must be a JSON object"},
      {"{}", "attributes: is missing"},
      {R"({"attributes":7})", "attributes: must be an object"},
      {R"({"attributes":{},"attributes":{}})", "attributes: is given twice"},
      {R"({"attributes":{},"amount":-1})", "amount: must be a whole number from 0 to 1000000000000"},
      {R"({"attributes":{},"amount":1000000000001})", "amount: must be a whole number"},
      {R"({"attributes":{},"amount":1.5})", "amount: must be a whole number"},
      {R"({"attributes":{},"amount":"1"})", "amount: must be a whole number"},
      {R"({"attributes":{},"amount":1,"amount":2})", "amount: is given twice"},
      {R"({"attributes":{},"id":""})", "id: must have 1 to 256 bytes"},
      {R"({"attributes":{},"id":7})", "id: must be a string"},
      {R"({"attributes":{},"id":")"
       "\xff"
       R"("})",
       "id: is not valid UTF-8"},
      {R"({"attributes":{},"id":"a","id":"b"})", "id: is given twice"},
      {R"({"attributes":{},"at":7})", "at: must be a time such as"},
      {R"({"attributes":{},"at":"soon"})", "at: must be a time such as"},
      {R"({"attributes":{},"cost":1})", "cost: is not known here"},
  };
  for (const auto& [body, why] : kForms) EXPECT_THAT(report(body), HasSubstr(why)) << body;
  static_assert(kMaxHoldId == 256);
  const auto with_id = [](std::size_t size) {
    return report(R"({"attributes":{},"id":")" + std::string(size, 'x') + R"("})");
  };
  EXPECT_THAT(with_id(kMaxHoldId), StartsWith("amount=1 id=x"));
  EXPECT_THAT(with_id(kMaxHoldId + 1), HasSubstr("id: must have 1 to 256 bytes"));
}

TEST(UsageBody, RefusesEventsAndNamesTheMember) {
  const std::string version = R"("specversion":"1.0")", source = R"("source":"s")", id = R"("id":"1")",
                    data = R"("data":{"attributes":{}})";
  const struct {
    std::string members;
    const char* why;
  } kForms[] = {
      {source + "," + id + "," + data, "specversion: must be \"1.0\""},
      {R"("specversion":"0.3",)" + source + "," + id + "," + data, "specversion: must be \"1.0\""},
      {version + "," + id + "," + data, "source: is missing"},
      {version + "," + source + "," + data, "id: is missing"},
      {version + "," + source + "," + id, "data: is missing"},
      {version + R"(,"source":7)", "source: must be a string"},
      {version + R"(,"id":"")", "id: must have 1 to 256 bytes"},
      {version + R"(,"time":"now")", "time: must be a time such as"},
      {version + R"(,"data":7)", "data: must be an object with attributes and amount"},
      {version + R"(,"data":{})", "attributes: is missing"},
      {version + R"(,"data":{"attributes":{},"amount":-1})", "amount: must be a whole number"},
      {version + R"(,"data":{"attributes":{},"id":"1"})", "id: is not known here"},
      {version + R"(,"data":{"attributes":{},"at":"1970-01-01T00:00:01Z"})", "at: is not known here"},
      {version + R"(,"data":{"attributes":{}},"data":{"attributes":{}})", "data: is given twice"},
      {version + R"(,"id":"1","id":"2")", "id: is given twice"},
  };
  for (const auto& [members, why] : kForms) EXPECT_THAT(event(members), HasSubstr(why)) << members;
}

TEST(UsageBody, IsReadyForTheNextBodyAfterABadOne) {
  UsageBody body;
  EXPECT_FALSE(body.read(kBatch, "[" + std::string(kEvent) + ",7]").ok());
  ASSERT_TRUE(body.read("application/json", kReport).ok());
  ASSERT_EQ(body.reports().size(), 1U);
  EXPECT_EQ(describe(body.reports()[0]), "tenant=acme amount=3 id=job-17");
}

TEST(Moment, IsReadToTheMicrosecondInAnyOffset) {
  constexpr std::int64_t kNoon = 1'772'366'400'000'000;  // 2026-03-01T12:00:00Z
  const struct {
    const char* text;
    std::int64_t at;
  } kForms[] = {
      {"2026-03-01T12:00:00Z", kNoon},
      {"2026-03-01t12:00:00z", kNoon},
      {"2026-03-01T13:30:00+01:30", kNoon},
      {"2026-03-01T11:15:00-00:45", kNoon},
      {"2026-03-02T11:59:00+23:59", kNoon},
      {"2026-03-01T12:00:01.5Z", kNoon + 1'500'000},
      {"2026-03-01T12:00:00.123456Z", kNoon + 123'456},
      {"2026-03-01T12:00:00.0000019Z", kNoon + 1},
      {"2026-03-01T12:00:00.25+00:00", kNoon + 250'000},
      {"1970-01-01T00:00:00Z", 0},
      {"1970-01-01T23:59:59Z", 86'399'000'000},
      {"2024-02-29T00:00:00Z", 1'709'164'800'000'000},
  };
  for (const auto& [text, at] : kForms) {
    const std::optional<TimePoint> read = parse_moment(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(micros(*read), at) << text;
  }
}

TEST(Moment, WhatIsNoTimeIsRefused) {
  for (const char* text : {"",
                           "now",
                           "2026-03-01",
                           "2026-03-01T12:00:00",
                           "2026-03-01 12:00:00Z",
                           "2026-03-01T12:00Z",
                           "2026-3-01T12:00:00Z",
                           "2026/03/01T12:00:00Z",
                           "2026-03-01T12-00-00Z",
                           "-026-03-01T12:00:00Z",
                           "2026-00-01T12:00:00Z",
                           "2026-13-01T12:00:00Z",
                           "2026-02-29T12:00:00Z",
                           "2026-04-31T12:00:00Z",
                           "2026-03-00T12:00:00Z",
                           "2026-03-01T24:00:00Z",
                           "2026-03-01T12:60:00Z",
                           "2026-03-01T12:00:60Z",
                           "2026-03-01T12:00:00.Z",
                           "2026-03-01T12:00:00.1",
                           "2026-03-01T12:00:00Z ",
                           "2026-03-01T12:00:00+01",
                           "2026-03-01T12:00:00+0100",
                           "2026-03-01T12:00:00+01:00Z",
                           "2026-03-01T12:00:00+24:00",
                           "2026-03-01T12:00:00-00:60",
                           "2026-03-01T12:00:00+-1:00"}) {
    EXPECT_FALSE(parse_moment(text)) << text;
  }
}

}  // namespace
}  // namespace weir::http
