#include "identity/forwarded_request.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::identity {
namespace {

std::optional<ForwardedRequest> read(std::vector<HeaderField> headers) { return read_forwarded(headers); }

// What each gateway sends.
TEST(ForwardedRequest, ReadsWhatEachGatewaySends) {
  const auto caddy = read({{"X-Forwarded-Method", "PUT"},
                           {"X-Forwarded-Uri", "/a?b=1"},
                           {"X-Forwarded-Host", "shop.example"},
                           {"X-Forwarded-Proto", "https"}});
  ASSERT_TRUE(caddy);
  EXPECT_EQ(caddy->method, "PUT");
  EXPECT_EQ(caddy->target, "/a?b=1");
  EXPECT_EQ(caddy->host, "shop.example");
  EXPECT_EQ(caddy->scheme, "https");
  const auto nginx = read({{"x-original-method", "PATCH"}, {"x-original-uri", "/n"}});
  ASSERT_TRUE(nginx);
  EXPECT_EQ(nginx->method, "PATCH");
  EXPECT_EQ(nginx->target, "/n");
  EXPECT_EQ(read({{"X-Original-URL", "https://shop.example/i?x=http://y/"}})->target, "/i?x=http://y/");
  EXPECT_EQ(read({{"X-Original-URL", "http://shop.example"}})->target, "/");
  EXPECT_EQ(read({{"X-Original-URL", "http://shop.example?x=/i"}})->target, "?x=/i") << "not the path /i";
  const auto nothing = read({});
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->target, "");
}

// A gateway passes on what it does not write itself.
TEST(ForwardedRequest, TwoThatDisagreeAreRefusedAndTwoThatAgreeAreNot) {
  EXPECT_FALSE(read({{"X-Forwarded-Uri", "/dear"}, {"X-Original-URI", "/cheap"}}));
  EXPECT_FALSE(read({{"X-Forwarded-Uri", "/dear"}, {"X-Original-URL", "http://h/cheap"}}));
  EXPECT_FALSE(read({{"X-Forwarded-Method", "POST"}, {"X-Original-Method", "GET"}}));
  EXPECT_FALSE(read({{"X-Forwarded-Uri", "/dear"}, {"X-Forwarded-Uri", "/cheap"}}));
  EXPECT_FALSE(read({{"X-Forwarded-Host", "a"}, {"x-forwarded-host", "b"}}));
  EXPECT_EQ(read({{"X-Forwarded-Uri", "/a"}, {"X-Original-URL", "http://h/a"}})->target, "/a");
  EXPECT_EQ(read({{"X-Forwarded-Uri", "/a"}, {"X-Original-URI", ""}})->target, "/a");
}

TEST(ForwardedRequest, RefusesWhatIsNoMethodOrScheme) {
  EXPECT_FALSE(read({{"X-Forwarded-Method", "GET /x"}}));
  EXPECT_FALSE(read({{"X-Forwarded-Method", std::string_view("GE\0T", 4)}}));
  EXPECT_FALSE(read({{"X-Forwarded-Method", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJ"}}));
  EXPECT_FALSE(read({{"X-Forwarded-Proto", "ht tp"}}));
  EXPECT_FALSE(read({{"X-Forwarded-Proto", "httpshttpshttpshttps"}}));
}

TEST(ForwardedRequest, TheNearestProxyIsAtTheRight) {
  EXPECT_EQ(read({{"X-Forwarded-Proto", "http, https"}})->scheme, "https");
  EXPECT_EQ(read({{"X-Forwarded-Host", "evil.example, shop.example"}})->host, "shop.example");
}

TEST(NormalHost, HasOneSpelling) {
  EXPECT_EQ(normal_host("Shop.Example.:8443"), "shop.example");
  EXPECT_EQ(normal_host("[2001:DB8::1]:80"), "[2001:db8::1]");
  EXPECT_EQ(normal_host(""), "");
  EXPECT_FALSE(normal_host("a b"));
  EXPECT_FALSE(normal_host("a/b"));
  EXPECT_FALSE(normal_host("caf\xc3\xa9"));
  EXPECT_FALSE(normal_host(std::string(256, 'a')));
}

}  // namespace
}  // namespace weir::identity
