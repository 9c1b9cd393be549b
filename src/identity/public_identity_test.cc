// Identity as a program that embeds the library sees it.
#include <gtest/gtest.h>

#include "weir/identity.h"

namespace weir {
namespace {

const TimePoint kNow = from_micros(1'800'000'000'000'000);

std::string value_of(const IdentityResult& result, std::string_view name) {
  for (const IdentityResult::Value& each : result.values) {
    if (each.name == name) return each.value;
  }
  return "(none)";
}

IdentitySettings behind_a_proxy() {
  IdentitySettings settings;
  settings.trusted_proxies = {"10.0.0.0/8"};
  settings.attributes = {{"api_key", "header:x-api-key"}};
  settings.hash_key = {1, 2, 3};
  settings.routes = {{"GET", "/v1/search", "search", 5}};
  return settings;
}

TEST(RequestIdentity, MakesTheAttributesThatRulesCountBy) {
  const auto identity = RequestIdentity::create(behind_a_proxy());
  ASSERT_TRUE(identity.ok()) << identity.failure().message;
  const HttpField headers[] = {{"X-Forwarded-For", "203.0.113.9"}, {"X-Api-Key", "secret-key-1"}};
  const IdentityResult result = identity.value()->identify(
      {.method = "GET", .target = "/v1/search?q=x", .headers = headers, .peer = "10.0.0.7"}, kNow);
  ASSERT_FALSE(result.refusal) << result.refusal->text;
  EXPECT_EQ(value_of(result, "ip"), "203.0.113.9");
  EXPECT_EQ(value_of(result, "action"), "search");
  EXPECT_EQ(result.cost.units, 5);
  EXPECT_NE(value_of(result, "api_key"), "(none)");
  EXPECT_EQ(value_of(result, "api_key").find("secret"), std::string::npos) << "hashed";
  ASSERT_EQ(result.attributes().size(), result.values.size());
  EXPECT_EQ(result.attributes().front().name, result.values.front().name);
}

TEST(RequestIdentity, DoesNotBelieveAStranger) {
  const auto identity = RequestIdentity::create(behind_a_proxy());
  ASSERT_TRUE(identity.ok());
  const HttpField headers[] = {{"X-Forwarded-For", "203.0.113.9"}};
  const IdentityResult result =
      identity.value()->identify({.method = "GET", .target = "/", .headers = headers, .peer = "198.51.100.1"}, kNow);
  EXPECT_EQ(value_of(result, "ip"), "198.51.100.1");
}

TEST(RequestIdentity, RefusesWhatItCannotRead) {
  const auto identity = RequestIdentity::create(behind_a_proxy());
  ASSERT_TRUE(identity.ok());
  const HttpField headers[] = {{"X-Api-Key", "one"}, {"X-Api-Key", "two"}};
  const IdentityResult twice =
      identity.value()->identify({.method = "GET", .target = "/", .headers = headers, .peer = "198.51.100.1"}, kNow);
  ASSERT_TRUE(twice.refusal);
  EXPECT_EQ(twice.refusal->kind, IdentityRefusal::Kind::malformed);
  const IdentityResult peer =
      identity.value()->identify({.method = "GET", .target = "/", .headers = {}, .peer = "nowhere"}, kNow);
  ASSERT_TRUE(peer.refusal);
  EXPECT_EQ(peer.refusal->cause, "peer");
}

TEST(RequestIdentity, SaysWhichSettingIsWrong) {
  IdentitySettings settings;
  settings.forwarding_header = "via";
  const auto header = RequestIdentity::create(settings);
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.failure().message.find("forwarding_header: is 'via'"), 0U) << header.failure().message;
  settings = {};
  settings.attributes = {{"tenant", "header:x-tenant"}};
  const auto unverified = RequestIdentity::create(settings);
  ASSERT_FALSE(unverified.ok());
  EXPECT_EQ(unverified.failure().message.find("attributes.tenant: "), 0U) << unverified.failure().message;
}

}  // namespace
}  // namespace weir
