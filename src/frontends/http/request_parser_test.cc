#include "frontends/http/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace weir::http {
namespace {

using State = RequestParser::State;
using testing::HasSubstr;

constexpr std::size_t kBodyLimit = 1000;

// What became of one message, in a form that can be compared: "400 why", "need more" or the request itself.
std::string describe(const RequestParser& parser, State state) {
  if (state == State::failed) return std::to_string(parser.error().status) + " " + parser.error().detail;
  if (state != State::complete) return "need more";
  const HttpRequest& request = parser.request();
  std::string text = std::string(request.method) + " " + std::string(request.path) + " ?" + std::string(request.query);
  for (const HttpField& field : request.fields) {
    text += " [" + std::string(field.name) + "=" + std::string(field.value) + "]";
  }
  text += " {" + std::string(request.body) + "}" + (request.keep_alive ? " keep" : " close");
  return text + " consumed " + std::to_string(parser.consumed());
}

State step(RequestParser& parser, std::string_view bytes) {
  State state = parser.parse(bytes);
  if (state == State::head) {
    parser.allow_body(kBodyLimit);
    state = parser.parse(bytes);
  }
  return state;
}

std::string at_once(std::string_view bytes, const HttpLimits& limits = {}) {
  RequestParser parser(limits);
  return describe(parser, step(parser, bytes));
}

// Feeds `cut` bytes more each time, every time in another place, as when the buffer moves.
std::string in_pieces(std::string_view bytes, std::size_t cut, const HttpLimits& limits = {}) {
  RequestParser parser(limits);
  std::string copies[2];
  for (std::size_t size = cut; size < bytes.size(); size += cut) {
    std::string& copy = copies[(size / cut) % 2];
    copy = std::string(bytes.substr(0, size));
    const State state = step(parser, copy);
    if (state != State::need_more) return describe(parser, state);
  }
  return describe(parser, step(parser, bytes));
}

std::string get(const std::string& fields) { return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n"; }
std::string chunked(const std::string& body) { return get("Transfer-Encoding: chunked\r\n") + body; }

TEST(RequestParser, ReadsARequestWithItsFieldsAndBody) {
  EXPECT_EQ(at_once("POST /v1/check?deny_status=403 HTTP/1.1\r\nHost: h:80\r\nContent-Length: 4\r\nX-Empty:\r\n"
                    "X-Padded: \t a b \t\r\n\r\nbodyGET"),
            "POST /v1/check ?deny_status=403 [Host=h:80] [Content-Length=4] [X-Empty=] [X-Padded=a b] {body} keep "
            "consumed 107");
}

TEST(RequestParser, FindsFieldsWithoutRegardToCase) {
  RequestParser parser{HttpLimits{}};
  const std::string bytes = get("X-Api-Key: k\r\n");
  ASSERT_EQ(step(parser, bytes), State::complete);
  ASSERT_NE(parser.request().find("x-api-KEY"), nullptr);
  EXPECT_EQ(parser.request().find("x-api-key")->value, "k");
  EXPECT_EQ(parser.request().find("x-api"), nullptr);
}

TEST(RequestParser, TakesAnAbsoluteTargetByItsPath) {
  EXPECT_THAT(at_once("GET http://h:1/p?q HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("GET /p ?q "));
  EXPECT_THAT(at_once("GET HTTPS://h HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("GET / ? "));
  EXPECT_THAT(at_once("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("GET / ?q "));
  EXPECT_THAT(at_once("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("OPTIONS * ? "));
}

TEST(RequestParser, KnowsWhichConnectionsGoOn) {
  EXPECT_THAT(at_once(get("")), HasSubstr("keep"));
  EXPECT_THAT(at_once(get("Connection: x , Close\r\n")), HasSubstr("close"));
  EXPECT_THAT(at_once("GET / HTTP/1.0\r\n\r\n"), HasSubstr("close"));
  EXPECT_THAT(at_once("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), HasSubstr("keep consumed"));
}

TEST(RequestParser, ForgivesOneEmptyLineBeforeARequest) {
  EXPECT_THAT(at_once("\r\n" + get("")), HasSubstr("GET / "));
  EXPECT_THAT(at_once("\r\n\r\n" + get("")), HasSubstr("400"));
}

TEST(RequestParser, DecodesChunks) {
  EXPECT_THAT(at_once(chunked("4\r\nWiki\r\n6;a=\"b\"\r\npedia \r\nB\r\nin \r\nchunks\r\n0\r\n\r\nrest")),
              HasSubstr("{Wikipedia in \r\nchunks}"));
  EXPECT_THAT(at_once(chunked("003\r\nabc\r\n0\r\nX-Trailer: 1\r\nX-Other: 2\r\n\r\n")), HasSubstr("{abc}"));
  EXPECT_THAT(at_once(chunked("0\r\n\r\n")), HasSubstr("{}"));
}

// Each of these is read differently by some proxy or server.
TEST(RequestParser, RefusesWhatTwoReadersCouldReadInTwoWays) {
  const struct {
    std::string bytes;
    const char* why;
  } kForms[] = {
      {get("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"), "400 both"},
      {get("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"), "400 both"},
      {get("Content-Length: 4\r\nContent-Length: 5\r\n"), "400 there are two Content-Length"},
      {get("Content-Length: 4\r\nContent-Length: 4\r\n"), "400 there are two Content-Length"},
      {get("Content-Length: 4, 4\r\n"), "400 Content-Length is not"},
      {get("Content-Length: +4\r\n"), "400 Content-Length is not"},
      {get("Content-Length: -4\r\n"), "400 Content-Length is not"},
      {get("Content-Length: 0x4\r\n"), "400 Content-Length is not"},
      {get("Content-Length: 4 4\r\n"), "400 Content-Length is not"},
      {get("Content-Length: \r\n"), "400 Content-Length is not"},
      {get("Content-Length: 99999999999999999999\r\n"), "400 Content-Length is not"},
      {get("Content-Length : 4\r\n"), "400 a header field's name"},
      {get("Transfer-Encoding: gzip\r\n"), "400 Transfer-Encoding: only chunked, once"},
      {get("Transfer-Encoding: gzip, chunked\r\n"), "400 Transfer-Encoding: only chunked, once"},
      {get("Transfer-Encoding: chunked, chunked\r\n"), "400 Transfer-Encoding: only chunked, once"},
      {get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
       "400 Transfer-Encoding: only chunked, once"},
      {get("Transfer-Encoding: xchunked\r\n"), "400 Transfer-Encoding: only chunked, once"},
      {get("Transfer-Encoding: \x0b"
           "chunked\r\n"),
       "400 a header field's value"},
      {get("Transfer-Encoding : chunked\r\n"), "400 a header field's name"},
      {get("Transfer\tEncoding: chunked\r\n"), "400 a header field's name"},
      {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 HTTP/1.0 has no"},
      {get("X: a\r\n b\r\n"), "400 a header field is folded"},
      {get("X: a\r\n\tb\r\n"), "400 a header field is folded"},
      {"GET / HTTP/1.1\r\n Host: h\r\n\r\n", "400 a header field is folded"},
      {"GET / HTTP/1.1\nHost: h\n\n", "400 a line ends in a bare LF"},
      {"GET / HTTP/1.1\r\nHost: h\n\r\n", "400 a line ends in a bare LF"},
      {get("X: a\rContent-Length: 4\r\n"), "400 a header field's value"},
      {get("X: a\r\r\n"), "400 a header field's value"},
      {get(std::string("X: a\0b\r\n", 8)), "400 a header field's value"},
      {get(std::string("X\0: a\r\n", 7)), "400 a header field's name"},
      {get("X: a\x7f\r\n"), "400 a header field's value"},
      {get("X: 12345678\x01"
           "2345678\r\n"),
       "400 a header field's value"},
      {get("X\r\n"), "400 a header field has no colon"},
      {get(": a\r\n"), "400 a header field's name"},
      {get("X(y): a\r\n"), "400 a header field's name"},
      {get("Host: h\r\n"), "400 there are two Host"},
      {"GET / HTTP/1.1\r\n\r\n", "400 the Host field is missing"},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 the Host field is not"},
      {"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", "400 the Host field is not"},
      {"GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", "400 the Host field is not"},
      {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "400 the target has"},
      {"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", "400 the version"},
      {"GET / a HTTP/1.1\r\nHost: h\r\n\r\n", "400 the target has"},
      {"GET /\r\nHost: h\r\n\r\n", "400 the request line"},
      {"GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", "400 the request line"},
      {"G\"T / HTTP/1.1\r\nHost: h\r\n\r\n", "400 the method"},
      {" GET / HTTP/1.1\r\nHost: h\r\n\r\n", "400 the method"},
      {"GET /#a HTTP/1.1\r\nHost: h\r\n\r\n", "400 the target has"},
      {"GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n", "400 the target has"},
      {"GET a HTTP/1.1\r\nHost: h\r\n\r\n", "400 the target is neither"},
      {"GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", "400 the target is neither"},
      {"GET http:///p HTTP/1.1\r\nHost: h\r\n\r\n", "400 the target is neither"},
      {"GET http://u@h/p HTTP/1.1\r\nHost: h\r\n\r\n", "400 the target is neither"},
      {"GET / http/1.1\r\nHost: h\r\n\r\n", "400 the version"},
      {"GET / HTTP/1.10\r\nHost: h\r\n\r\n", "400 the version"},
      {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", "505"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"},
      {get("Expect: 200-maybe\r\n"), "417"},
      {chunked("x\r\n"), "400 a chunk's size"},
      {chunked("\r\n"), "400 a chunk's size"},
      {chunked("-1\r\n"), "400 a chunk's size"},
      {chunked("0x1\r\n"), "400 a chunk's size"},
      {chunked("1 \r\na\r\n0\r\n\r\n"), "400 a chunk's size"},
      {chunked("1\na\r\n0\r\n\r\n"), "400 a line ends in a bare LF"},
      {chunked("1\r\nab\r\n0\r\n\r\n"), "400 a chunk does not end"},
      {chunked("1\r\na\n0\r\n\r\n"), "400 a chunk does not end"},
      {chunked("1\r\nab"), "400 a chunk does not end"},
      {chunked("1\r\na\rb"), "400 a chunk does not end"},
      {chunked("10000000000000000\r\n"), "400 a chunk's size"},
      {chunked("1;a\rb\r\na\r\n0\r\n\r\n"), "400 a chunk's size"},
      {chunked("1;" + std::string(kMaxChunkLine, 'e') + "\r\na\r\n"), "400 a chunk's size line is too long"},
      {chunked("0\r\nX: a\r\n folded\r\n\r\n"), "400 a header field is folded"},
      {chunked("0\r\nX : a\r\n\r\n"), "400 a header field's name"},
      {chunked("0\r\nX: " + std::string(kMaxTrailerBytes, 't') + "\r\n\r\n"), "400 the trailers are too large"},
      {get("Content-Length: 1001\r\n"), "413"},
      {chunked("3e9\r\n"), "413"},
      {chunked("3e8\r\n" + std::string(1000, 'b') + "\r\n1\r\n"), "413"},
      {"GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", "414"},
      {get("X: " + std::string(16 << 10, 'a') + "\r\n"), "431"},
  };
  for (const auto& form : kForms) {
    const std::string outcome = at_once(form.bytes);
    EXPECT_THAT(outcome, testing::StartsWith(form.why)) << form.bytes.substr(0, 200);
    EXPECT_EQ(in_pieces(form.bytes, 1), outcome) << form.bytes.substr(0, 200);
  }
}

TEST(RequestParser, CountsFieldsAndBytes) {
  std::string fields;
  for (int i = 0; i < 99; ++i) fields += "X: a\r\n";
  EXPECT_THAT(at_once(get(fields)), HasSubstr("keep consumed"));
  EXPECT_THAT(at_once(get(fields + "X: a\r\n")), HasSubstr("431 there are too many"));

  // A head of exactly the limit passes, one byte more does not. The limit counts up to the last line's CRLF.
  const HttpLimits limits{.header_bytes = 64};
  const auto head = [](std::size_t size) { return get("X: " + std::string(size - 32, 'a') + "\r\n"); };
  EXPECT_THAT(at_once(head(64), limits), HasSubstr("keep consumed"));
  EXPECT_THAT(at_once(head(80), limits), HasSubstr("431"));
}

TEST(RequestParser, RefusesABodyInTooManyChunks) {
  HttpLimits limits;
  RequestParser parser(limits);
  std::string bytes = chunked("");
  for (std::size_t i = 0; i < 20'000; ++i) bytes += "1\r\na\r\n";
  State state = parser.parse(bytes);
  ASSERT_EQ(state, State::head);
  parser.allow_body(std::size_t{1} << 20);
  EXPECT_EQ(parser.parse(bytes), State::failed);
  EXPECT_THAT(parser.error().detail, HasSubstr("chunks are too small"));
}

TEST(RequestParser, SaysWhenTheClientWaitsToSendItsBody) {
  RequestParser parser{HttpLimits{}};
  const std::string bytes = get("Expect: 100-Continue\r\nContent-Length: 3\r\n");
  ASSERT_EQ(step(parser, bytes), State::need_more);
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_EQ(parser.head_bytes(), bytes.size());
  EXPECT_EQ(step(parser, bytes + "abc"), State::complete);
}

TEST(RequestParser, AMessageHasBegunFromItsFirstByteToItsEnd) {
  RequestParser parser{HttpLimits{}};
  EXPECT_FALSE(parser.begun());
  step(parser, "G");
  EXPECT_TRUE(parser.begun());
  ASSERT_EQ(step(parser, get("")), State::complete);
  parser.reset();
  EXPECT_FALSE(parser.begun());
}

// Random damage to sound messages: whatever becomes of them, it does not depend on how the bytes arrive.
TEST(RequestParser, GivesTheSameAnswerHoweverTheBytesArrive) {
  const std::string seeds[] = {
      "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nX-Long: 0123456789abcdef\r\n\r\nhello world",
      chunked("4\r\nWiki\r\n5;x=y\r\npedia\r\n0\r\nX: y\r\n\r\n"),
      "GET http://h/p?q HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
  };
  const std::string spice("\r\n\t\0 :;,0a\x7f\xff", 12);
  std::mt19937 random(20'240'607);
  const HttpLimits limits{.request_line_bytes = 60, .header_bytes = 120, .header_count = 4};
  int complete = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = seeds[random() % 3];
    for (std::size_t damage = random() % 3; damage > 0; --damage) {
      const std::size_t at = random() % bytes.size();
      const char with = spice[random() % spice.size()];
      if (random() % 2 == 0) {
        bytes[at] = with;
      } else {
        bytes.insert(at, 1, with);
      }
    }
    const std::string outcome = at_once(bytes, limits);
    if (outcome.find("consumed") != std::string::npos) ++complete;
    ASSERT_EQ(in_pieces(bytes, 1, limits), outcome) << "round " << round << "\n" << bytes;
    ASSERT_EQ(in_pieces(bytes, 1 + random() % 20, limits), outcome) << "round " << round << "\n" << bytes;
  }
  EXPECT_GT(complete, 2'000);
  EXPECT_LT(complete, 18'000);
}

// RFC 9110, 5.6.2 and 7.2; of what a reg-name may have, what no host has is refused.
TEST(RequestParser, MethodNamesAndHostsConsistOfTheirCharactersOnly) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const std::string token = letters + "!#$%&'*+-.^_`|~";
  const std::string host = letters + "!$%&'*+-._~:[]();=";
  for (int c = 1; c < 256; ++c) {
    const std::string one(1, static_cast<char>(c));
    if (one == "\r" || one == "\n") continue;  // the end of the line
    const bool names = token.find(one) != std::string::npos;
    EXPECT_EQ(at_once(get("a" + one + "b: x\r\n")).starts_with("GET / "), names || one == ":") << "field name, " << c;
    EXPECT_EQ(at_once("G" + one + " / HTTP/1.1\r\nHost: h\r\n\r\n").starts_with("G" + one + " / "), names)
        << "method, " << c;
    const bool hosts = host.find(one) != std::string::npos;
    EXPECT_EQ(at_once("GET / HTTP/1.1\r\nHost: a" + one + "b\r\n\r\n").starts_with("GET / "), hosts) << "host, " << c;
  }
}

}  // namespace
}  // namespace weir::http
