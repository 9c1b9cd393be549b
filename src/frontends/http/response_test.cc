// Answers byte by byte, and what is counted of them.
#include "frontends/http/response.h"

#include <gtest/gtest.h>

#include <set>

#include "frontends/http/status_counts.h"

namespace weir::http {
namespace {

std::string written(const Response& response, const ResponseForm& form = {}, std::string_view date = {}) {
  std::string out = "before|";
  append_response(out, response, form, date);
  return out.substr(7);
}

TEST(Response, IsWrittenAsOneMessage) {
  EXPECT_EQ(written({.status = 429, .content_type = kProblemJson, .fields = "Retry-After: 1\r\n", .body = "{}"}, {},
                    "Date: now\r\n"),
            "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nContent-Length: 2\r\n"
            "Cache-Control: no-store\r\nDate: now\r\nRetry-After: 1\r\n\r\n{}");
}

TEST(Response, WithoutABodyHasNoTypeAndWithoutContentNoLength) {
  EXPECT_EQ(written({.status = 200, .content_type = {}, .fields = {}, .body = {}}),
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n");
  EXPECT_EQ(written({.status = 204, .content_type = {}, .fields = {}, .body = {}}),
            "HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\n\r\n");
}

TEST(Response, ToHeadHasTheLengthButNotTheBody) {
  EXPECT_EQ(
      written({.body = "0123456789"}, {.head_only = true}),
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\nCache-Control: no-store\r\n\r\n");
}

TEST(Response, SaysWhetherTheConnectionGoesOn) {
  const auto connection = [](bool keep_alive, int minor_version) {
    const std::string text = written({.body = {}}, {.keep_alive = keep_alive, .minor_version = minor_version});
    const std::size_t at = text.find("Connection: ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\r', at) - at);
  };
  EXPECT_EQ(connection(true, 1), "") << "the default of HTTP/1.1";
  EXPECT_EQ(connection(false, 1), "Connection: close");
  EXPECT_EQ(connection(true, 0), "Connection: keep-alive");
  EXPECT_EQ(connection(false, 0), "Connection: close");
}

TEST(Response, HasAPhraseOfItsOwnForEveryStatusThatIsSent) {
  std::set<std::string_view> phrases = {"Status"};
  for (const int status :
       {200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 413, 414, 417, 422, 429, 431, 500, 501, 503, 505}) {
    EXPECT_TRUE(phrases.insert(status_phrase(status)).second) << status;
  }
  EXPECT_EQ(status_phrase(299), "Status");
}

TEST(Response, AProblemIsJson) {
  std::string out;
  append_problem(out, 404, "no \"such\" path");
  EXPECT_EQ(out, R"({"type":"about:blank","title":"Not Found","status":404,"detail":"no \"such\" path"})");
}

TEST(StatusCounts, CountByHundreds) {
  StatusCounts counts;
  for (const int status : {100, 199, 200, 299, 299, 404, 500, 599, 99, 600, 0, -1}) counts.count(status);
  EXPECT_EQ(counts.of_class(1), 2U);
  EXPECT_EQ(counts.of_class(2), 3U);
  EXPECT_EQ(counts.of_class(3), 0U);
  EXPECT_EQ(counts.of_class(4), 1U);
  EXPECT_EQ(counts.of_class(5), 2U);
}

}  // namespace
}  // namespace weir::http
