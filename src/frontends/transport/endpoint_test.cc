#include "frontends/transport/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::transport {
namespace {

using testing::HasSubstr;

std::string failure_of(std::string_view text) {
  const Result<Endpoint> endpoint = parse_endpoint(text);
  return endpoint.ok() ? "accepted as " + endpoint.value().text() : endpoint.failure().message;
}

TEST(Endpoint, ReadsEveryNotationAndWritesItBack) {
  for (const char* text : {"127.0.0.1:8080", "0.0.0.0:0", "[::1]:65535", "[::]:0", "unix:/run/weir.sock", "off"}) {
    const Result<Endpoint> endpoint = parse_endpoint(text);
    ASSERT_TRUE(endpoint.ok()) << text << ": " << endpoint.failure().message;
    EXPECT_EQ(endpoint.value().text(), text);
  }
  EXPECT_EQ(parse_endpoint("localhost:80").value().text(), "127.0.0.1:80");
}

TEST(Endpoint, SaysWhatIsWrong) {
  EXPECT_THAT(failure_of(""), HasSubstr("the port is missing"));
  EXPECT_THAT(failure_of("127.0.0.1"), HasSubstr("the port is missing"));
  EXPECT_THAT(failure_of(":8080"), HasSubstr("the address is missing"));
  EXPECT_THAT(failure_of("127.0.0.1:65536"), HasSubstr("not a number up to 65535"));
  EXPECT_THAT(failure_of("127.0.0.1:+1"), HasSubstr("not a number"));
  EXPECT_THAT(failure_of("127.0.0.1:"), HasSubstr("not a number"));
  EXPECT_THAT(failure_of("127.0.0.1:80x"), HasSubstr("not a number"));
  EXPECT_THAT(failure_of("::1:80"), HasSubstr("in brackets"));
  EXPECT_THAT(failure_of("[::1:80"), HasSubstr("bracket is not closed"));
  EXPECT_THAT(failure_of("[127.0.0.1]:80"), HasSubstr("not an IPv6 address"));
  EXPECT_THAT(failure_of("example.com:80"), HasSubstr("not an IP address"));
  EXPECT_THAT(failure_of("unix:"), HasSubstr("the path is empty"));
  EXPECT_THAT(failure_of("unix:/" + std::string(200, 'a')), HasSubstr("longer than 107 bytes"));
}

}  // namespace
}  // namespace weir::transport
