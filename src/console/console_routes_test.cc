// The console on real sockets: what browsers and other clients see.
#include "console/console_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"

namespace weir::console {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using transport::TestClient;

constexpr ConsoleFile kFiles[] = {
    {"", "text/html; charset=utf-8", "\"page\"", "<!doctype html>", false},
    {"assets/app-1.js", "text/javascript; charset=utf-8", "\"script\"", "compressed bytes", true},
};

class ConsoleTest : public testing::Test {
 protected:
  void start(std::span<const ConsoleFile> files) {
    auto router = std::make_shared<http::Router>();
    add_console_routes(*router, files);
    const auto bound =
        loops_.listen({.endpoint = transport::parse_endpoint("127.0.0.1:0").value(),
                       .protocols = [=](std::size_t) { return http::http_protocols(router, {}, nullptr, nullptr); }});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  std::string ask(std::string_view path, std::string_view fields = "") {
    TestClient client(endpoint_);
    client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n");
    return client.read_response();
  }

  transport::Endpoint endpoint_;
  transport::Loops loops_{1};
};

TEST_F(ConsoleTest, AnswersEveryAddressOfAScreenWithThePage) {
  start(kFiles);
  for (const char* path : {"/console", "/console/", "/console/rules", "/console/rules/search-per-key?range=1h",
                           "/console/rules/a%2Fb", "/console/tenants/keys/x"}) {
    EXPECT_THAT(ask(path), AllOf(StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"),
                                 EndsWith("<!doctype html>")))
        << path;
  }
}

TEST_F(ConsoleTest, LetsThePageLoadAndShowNothingFromElsewhere) {
  start(kFiles);
  for (const char* path : {"/console", "/console/assets/app-1.js"}) {
    EXPECT_THAT(ask(path, "Accept-Encoding: gzip\r\n"),
                AllOf(HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';"),
                      HasSubstr("frame-ancestors 'none'"), HasSubstr("X-Content-Type-Options: nosniff\r\n"),
                      HasSubstr("Referrer-Policy: no-referrer\r\n"), Not(HasSubstr("unsafe"))))
        << path;
  }
}

TEST_F(ConsoleTest, SendsAssetsCompressedAndToBeKept) {
  start(kFiles);
  EXPECT_THAT(
      ask("/console/assets/app-1.js", "Accept-Encoding: br;q=1, GZIP;q=0.5\r\n"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/javascript; charset=utf-8\r\n"),
            HasSubstr("Content-Encoding: gzip\r\n"), HasSubstr("Vary: Accept-Encoding\r\n"),
            HasSubstr("Cache-Control: public, max-age=31536000, immutable\r\n"), EndsWith("\r\n\r\ncompressed bytes")));
}

TEST_F(ConsoleTest, DoesNotSendCompressedFilesToClientsThatDidNotAskForThem) {
  start(kFiles);
  for (const char* fields :
       {"", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip;q=0\r\n", "Accept-Encoding: gzip; q=0.0, br\r\n"}) {
    EXPECT_THAT(ask("/console/assets/app-1.js", fields),
                AllOf(StartsWith("HTTP/1.1 406 Not Acceptable\r\n"), HasSubstr("Accept-Encoding: gzip")))
        << fields;
  }
  EXPECT_THAT(ask("/console/assets/app-1.js", "Accept-Encoding: *\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("/console/assets/app-1.js", "Accept-Encoding: gzip;q=0.001\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ConsoleTest, SaysThatACopyIsStillCurrent) {
  start(kFiles);
  EXPECT_THAT(ask("/console", "If-None-Match: \"old\", W/\"page\"\r\n"),
              AllOf(StartsWith("HTTP/1.1 304 Not Modified\r\n"), HasSubstr("ETag: \"page\"\r\n"),
                    HasSubstr("Cache-Control: no-cache\r\n"), Not(HasSubstr("Content-Length")), EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask("/console", "If-None-Match: \"old\"\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ConsoleTest, DoesNotAnswerAMissingAssetWithThePage) {
  start(kFiles);
  EXPECT_THAT(ask("/console/assets/app-2.js"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST_F(ConsoleTest, SaysHowToGetAConsoleThatWasNotBuilt) {
  start({});
  EXPECT_THAT(ask("/console"), AllOf(StartsWith("HTTP/1.1 404 Not Found\r\n"), HasSubstr("make console")));
}

}  // namespace
}  // namespace weir::console
