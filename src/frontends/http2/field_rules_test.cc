#include "frontends/http2/field_rules.h"

#include <gtest/gtest.h>

#include "tests/support/raw_frames.h"

namespace weir::http2 {
namespace {

constexpr std::size_t kMostBytes = 1000;

bool good(const Fields& fields, FieldRules::Block block = FieldRules::Block::request) {
  FieldRules rules(block, kMostBytes);
  for (const auto& [name, value] : fields) {
    if (!rules.accept(name, value)) return false;
  }
  return rules.good();
}

Fields request(const Fields& more = {}) {
  Fields fields = {{":method", "POST"}, {":scheme", "http"}, {":path", "/a.B/C"}, {":authority", "weir:8081"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

TEST(FieldRules, AnOrdinaryRequestIsGood) {
  EXPECT_TRUE(good(request()));
  EXPECT_TRUE(good(request({{"te", "trailers"}, {"content-length", "12"}, {"x-empty", ""}, {"grpc-timeout", "1S"}})));
  EXPECT_TRUE(good({{":method", "OPTIONS"}, {":scheme", "http"}, {":path", "*"}}));
  EXPECT_TRUE(good({{":method", "CONNECT"}, {":authority", "weir:1"}}));
}

TEST(FieldRules, NothingBehindTheFieldThatIsTooMuchIsAccepted) {
  FieldRules rules(FieldRules::Block::trailers, kMostBytes);
  const std::string half(kMostBytes / 2 - 1 - FieldRules::kFieldOverhead, 'x');
  EXPECT_TRUE(rules.accept("a", half));
  EXPECT_TRUE(rules.accept("b", half));
  EXPECT_FALSE(rules.too_large());
  EXPECT_FALSE(rules.accept("c", ""));
  EXPECT_TRUE(rules.too_large());
  EXPECT_FALSE(rules.accept("", ""));
  EXPECT_TRUE(rules.too_large());
}

TEST(FieldRules, AMalformedBlockStaysSoHoweverLargeItGets) {
  FieldRules rules(FieldRules::Block::trailers, kMostBytes);
  EXPECT_FALSE(rules.accept("Upper", "x"));
  EXPECT_FALSE(rules.accept("a", std::string(kMostBytes, 'x')));
  EXPECT_FALSE(rules.too_large());
  EXPECT_FALSE(rules.good());
}

TEST(FieldRules, WhatEveryRequestHasMustBeThereOnce) {
  for (std::size_t missing = 0; missing < 3; ++missing) {
    Fields fields = request();
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_FALSE(good(fields)) << missing;
  }
  for (std::size_t twice = 0; twice < 4; ++twice) {
    Fields fields = request();
    fields.insert(fields.begin(), request()[twice]);
    EXPECT_FALSE(good(fields)) << twice;
  }
}

TEST(FieldRules, PseudoFieldsAreKnownOnesInFront) {
  EXPECT_FALSE(good(request({{":status", "200"}})));
  EXPECT_FALSE(good(request({{":protocol", "websocket"}})));
  EXPECT_FALSE(good({{":method", "GET"}, {":scheme", "http"}, {"a", "b"}, {":path", "/"}}));
  EXPECT_FALSE(good({{":path", "/"}}, FieldRules::Block::trailers));
  EXPECT_TRUE(good({{"checksum", "1"}}, FieldRules::Block::trailers));
}

TEST(FieldRules, NamesAndValuesThatAnotherServerCouldReadDifferentlyAreMalformed) {
  for (const Fields& bad : std::vector<Fields>{{{"Upper", "x"}},
                                               {{"sp ace", "x"}},
                                               {{"", "x"}},
                                               {{"a", std::string("b\0c", 3)}},
                                               {{"a", "b\r\nc: d"}},
                                               {{"a", " b"}},
                                               {{"a", "b "}},
                                               {{"connection", "close"}},
                                               {{"transfer-encoding", "chunked"}},
                                               {{"upgrade", "h2c"}},
                                               {{"keep-alive", "1"}},
                                               {{"proxy-connection", "close"}},
                                               {{"te", "gzip"}},
                                               {{"content-length", "1"}, {"content-length", "1"}},
                                               {{"content-length", "-1"}},
                                               {{"content-length", ""}},
                                               {{"content-length", "9999999999999999999"}}}) {
    EXPECT_FALSE(good(request(bad))) << bad[0].first << ": " << bad[0].second;
  }
}

TEST(FieldRules, PathsBeginWithASlash) {
  for (const char* path : {"", "a", "http://weir/", "*"}) {
    EXPECT_FALSE(good({{":method", "GET"}, {":scheme", "http"}, {":path", path}})) << path;
  }
}

// RFC 3986: a letter, then letters, digits, "+", "-" and ".".
TEST(FieldRules, SchemesAreMadeOfTheCharactersOfASchemeAndBeginWithALetter) {
  const auto has_scheme = [](const std::string& scheme) {
    return good({{":method", "GET"}, {":scheme", scheme}, {":path", "/"}});
  };
  EXPECT_FALSE(has_scheme(""));
  for (int c = 0x21; c < 0x7f; ++c) {
    const char character = static_cast<char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    EXPECT_EQ(has_scheme(std::string(1, character)), letter) << character;
    EXPECT_EQ(has_scheme(std::string("h") + character), letter || other) << character;
  }
}

TEST(FieldRules, TheLengthIsRead) {
  FieldRules rules(FieldRules::Block::request, kMostBytes);
  EXPECT_EQ(rules.content_length(), -1);
  EXPECT_TRUE(rules.accept("content-length", "1234"));
  EXPECT_EQ(rules.content_length(), 1234);
}

}  // namespace
}  // namespace weir::http2
