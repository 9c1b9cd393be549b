// Which bodies of /v1/usage are reports and which are CloudEvents.
#include "frontends/http/usage_body.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::http {
namespace {

constexpr const char* kReport = R"({"attributes":{"tenant":"acme"},"amount":3,"id":"job-17"})";
constexpr const char* kEvent =
    R"({"specversion":"1.0","id":"17","source":"/jobs","type":"x","data":{"attributes":{"tenant":"acme"},"amount":3}})";

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

}  // namespace
}  // namespace weir::http
