// The API on real sockets with a toy limiter: what clients see.
#include "frontends/http/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <future>

#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"
#include "tests/support/toy_limiter.h"

namespace weir::http {
namespace {

using transport::eventually;
using transport::TestClient;
using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string post(std::string_view path, std::string_view body, std::string_view fields = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
std::string check(std::string_view tenant) {
  return post("/v1/check", R"({"attributes":{"tenant":")" + std::string(tenant) + R"("}})");
}
std::string get(std::string_view path, std::string_view method = "GET") {
  return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n";
}

class ApiTest : public testing::Test {
 protected:
  void start(transport::Limits limits = {}, ApiOptions options = {}) {
    const auto bound = loops_.listen({.endpoint = transport::parse_endpoint("127.0.0.1:0").value(),
                                      .limits = limits,
                                      .protocols =
                                          [&](std::size_t) {
                                            auto router = make_api_router(limiter_, options);
                                            return http_protocols(std::move(router), {}, nullptr, counts_);
                                          },
                                      .tls = nullptr,
                                      .memory = memory_});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  // One request on a connection of its own.
  std::string ask(const std::string& request) {
    TestClient client(endpoint_);
    client.send(request);
    return client.read_response();
  }
  void wait_for_pending(std::size_t count) {
    ASSERT_TRUE(eventually([&] { return limiter_.pending() == count; }));
  }

  ToyLimiter limiter_;
  std::shared_ptr<StatusCounts> counts_ = std::make_shared<StatusCounts>();
  std::shared_ptr<transport::ConnectionMemory> memory_ =
      std::make_shared<transport::ConnectionMemory>(std::size_t{16} << 20);
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

// The tenant of a request becomes the rule's name, so that answers can be distinguished.
Decision named_after_tenant(const Request& request) {
  static const std::string_view kNames[] = {"a", "b", "c", "slow"};
  Decision decision = ToyLimiter::allowed(request);
  for (const std::string_view name : kNames) {
    if (!request.attributes.empty() && request.attributes[0].value == name) decision.rules[0].rule = name;
  }
  if (decision.rules[0].rule == "slow") decision.delay = 20ms;
  return decision;
}
std::string rule_of(const std::string& response) {
  const std::size_t at = response.find("\"rule\":\"") + 8;
  return response.substr(at, response.find('"', at) - at);
}

TEST_F(ApiTest, AllowsWithADecisionAndItsFields) {
  start();
  const std::string response = ask(check("acme"));
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "));
  EXPECT_THAT(response, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nRateLimit-Policy: \"search-per-key\";q=120;w=60\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\n\r\n{\"allowed\":true,"));
  EXPECT_THAT(response, Not(HasSubstr("Retry-After")));
  EXPECT_THAT(limiter_.asked(), testing::ElementsAre("tenant=acme cost=1"));
}

TEST_F(ApiTest, DeniesWithAProblemAndTheStatusThatTheCallerWants) {
  limiter_.decide_by(ToyLimiter::denied);
  start({}, {.headers = {.x_ratelimit = true}});
  const std::string response = ask(check("acme"));
  EXPECT_THAT(response, StartsWith("HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nRetry-After: 2\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nX-RateLimit-Remaining: 0\r\n"));
  const std::string body = R"({"attributes":{}})";
  EXPECT_THAT(ask(post("/v1/check?deny_status=403", body)), StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(ask(post("/v1/check?deny_status=403", body)), HasSubstr("\"status\":403,"));
  EXPECT_THAT(ask(post("/v1/check?deny_status=200", body)), StartsWith("HTTP/1.1 200 OK\r\n"));
  for (const char* query : {"deny_status=404", "deny_status=", "deny_status", "deny_status=403&deny_status=403"}) {
    const std::string refused = ask(post("/v1/check?" + std::string(query), body));
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 400")) << query;
    EXPECT_THAT(refused, HasSubstr("deny_status: must be one of")) << query;
  }
  EXPECT_THAT(ask(post("/v1/check?denystatus=403", body)), HasSubstr("denystatus: is not a known query parameter"));
}

TEST_F(ApiTest, BadInputIsAProblemThatNamesTheMemberAndTheConnectionGoesOn) {
  start();
  TestClient client(endpoint_);
  client.send(post("/v1/check", R"({"attributes":{"tenant":{}}})") + check("acme"));
  const std::string refused = client.read_response();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n"));
  EXPECT_THAT(
      refused,
      HasSubstr(R"("detail":"attributes.tenant: must be a string, a number, true or false, or an array of these")"));
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ApiTest, AnswersABatchInOrder) {
  limiter_.decide_by(named_after_tenant);
  start();
  const std::string response = ask(post(
      "/v1/check/batch", R"({"requests":[{"attributes":{"t":"b"}},{"attributes":{"t":"a"},"cost":7,"peek":true}]})"));
  const std::size_t body = response.find("\r\n\r\n") + 4;
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.parse(response.substr(body));
  ASSERT_EQ(simdjson::dom::array(root["decisions"]).size(), 2u);
  EXPECT_EQ(std::string_view(root["decisions"].at(0)["rule"]), "b");
  EXPECT_EQ(std::string_view(root["decisions"].at(1)["rule"]), "a");
  EXPECT_EQ(int64_t(root["decisions"].at(1)["cost"]), 7);
  EXPECT_THAT(limiter_.asked(), testing::ElementsAre("t=b cost=1", "t=a cost=7 peek"));
  EXPECT_THAT(ask(post("/v1/check/batch", R"({"requests":[]})")), EndsWith(R"({"decisions":[]})"));
}

TEST_F(ApiTest, RefundsAndServesItsDescriptionAndHealth) {
  bool ready = true;
  start({}, {.health = [&] {
          return HealthReport{.ready = ready, .details = ready ? "" : R"({"ready":false,"why":"x"})"};
        }});
  EXPECT_THAT(ask(post("/v1/refund", R"({"attributes":{"a":"b"},"cost":3})")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(limiter_.asked(), testing::ElementsAre("refund a=b cost=3"));
  EXPECT_THAT(ask(get("/healthz")), EndsWith("{\"status\":\"ok\"}"));
  EXPECT_THAT(ask(get("/readyz")), EndsWith("{\"ready\":true}"));
  ready = false;
  EXPECT_THAT(ask(get("/readyz")),
              testing::AllOf(StartsWith("HTTP/1.1 503"), EndsWith(R"({"ready":false,"why":"x"})")));
  EXPECT_THAT(ask(get("/healthz")), StartsWith("HTTP/1.1 200"));
}

TEST_F(ApiTest, TheDescriptionIsJsonAndKnowsEveryPath) {
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.parse(std::string(openapi_json()));
  EXPECT_EQ(std::string_view(root["openapi"]), "3.0.3");
  for (const char* path : {"/v1/check", "/v1/check/batch", "/v1/refund", "/v1/forward-auth", "/json", "/healthz",
                           "/readyz", "/openapi.json"}) {
    EXPECT_EQ(simdjson::dom::object(root["paths"])[path].error(), simdjson::SUCCESS) << path;
  }
  start();
  EXPECT_THAT(ask(get("/openapi.json")), EndsWith(std::string(openapi_json())));
}

TEST_F(ApiTest, UnknownPathsAndMethodsAreToldApart) {
  start();
  EXPECT_THAT(ask(get("/nowhere")), StartsWith("HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json"));
  const std::string wrong = ask(get("/v1/check"));
  EXPECT_THAT(wrong, StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(wrong, HasSubstr("\r\nAllow: POST\r\n"));
  EXPECT_THAT(ask(post("/healthz", "")), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

TEST_F(ApiTest, HeadHasTheLengthOfGetAndNoBody) {
  start();
  TestClient client(endpoint_);
  client.send(get("/healthz", "HEAD") + get("/healthz"));
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("\r\nContent-Length: 15\r\n"));
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ApiTest, KeepsPipelinedAnswersInOrder) {
  limiter_.decide_by(named_after_tenant);
  start();
  TestClient client(endpoint_);
  std::string many;
  for (int i = 0; i < 300; ++i) many += check(i % 2 == 0 ? "a" : "b");
  client.send(many);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(rule_of(client.read_response()), i % 2 == 0 ? "a" : "b") << i;
}

TEST_F(ApiTest, EndsTheConnectionWhenAskedTo) {
  start();
  TestClient client(endpoint_);
  client.send("GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + get("/healthz"));
  const std::string all = client.read_to_end();
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(all, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(all.find("HTTP/1.1", 1), std::string::npos);

  TestClient old(endpoint_);
  old.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(old.read_response(), HasSubstr("\r\nConnection: keep-alive\r\n"));
  old.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.read_to_end(), HasSubstr("\r\nConnection: close\r\n"));
}

TEST_F(ApiTest, SaysContinueToAClientThatWaitsAndNotToOneThatSendsTooMuch) {
  start();
  const std::string body = R"({"attributes":{}})";
  const std::string head = "POST /v1/check HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n";
  TestClient client(endpoint_);
  client.send(head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(body);
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200"));
  client.send(head + "Content-Length: 70000\r\n\r\n");
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 413"));
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(counts_->of_class(1), 1u);
  EXPECT_EQ(counts_->of_class(2), 1u);
  EXPECT_EQ(counts_->of_class(4), 1u);
}

TEST_F(ApiTest, EachPathHasItsOwnBodyLimit) {
  start();
  const std::string long_check = R"({"attributes":{}})" + std::string(70'000, ' ');
  const std::string long_batch = R"({"requests":[]})" + std::string(1'000'000, ' ');
  EXPECT_THAT(ask(post("/v1/check", long_check)), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(ask(post("/v1/check/batch", long_batch)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(post("/v1/check/batch", long_batch + std::string(100'000, ' '))), StartsWith("HTTP/1.1 413"));
}

TEST_F(ApiTest, TakesAChunkedBody) {
  start();
  EXPECT_THAT(ask("POST /v1/check HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "8\r\n{\"attrib\r\n9\r\nutes\":{}}\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
}

// The answer is sent, the connection ends, and what follows is not taken for a request.
TEST_F(ApiTest, ASmuggledRequestIsNeverAnswered) {
  start();
  TestClient client(endpoint_);
  client.send("POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
              get("/healthz"));
  const std::string all = client.read_to_end();
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(all, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(all, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(all.find("HTTP/1.1", 1), std::string::npos);
}

TEST_F(ApiTest, ASlowHeaderAndASlowBodyAreToldAndCutOff) {
  start({.message_timeout = 40ms});
  for (const char* part : {"GET /healthz HT", "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{"}) {
    TestClient client(endpoint_);
    client.send(part);
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408 Request Timeout\r\n")) << part;
    EXPECT_TRUE(client.ended());
  }
  EXPECT_EQ(loops_.total().timed_out, 2u);
}

TEST_F(ApiTest, AnswersThatComeLaterKeepTheOrderOfTheRequests) {
  limiter_.decide_by(named_after_tenant);
  limiter_.defer();
  start();
  TestClient client(endpoint_);
  client.send(check("a") + get("/healthz") + check("b") + check("c"));
  wait_for_pending(3);
  limiter_.complete(2);
  limiter_.complete(1);
  limiter_.complete(0);
  EXPECT_EQ(rule_of(client.read_response()), "a");
  EXPECT_THAT(client.read_response(), EndsWith("{\"status\":\"ok\"}"));
  EXPECT_EQ(rule_of(client.read_response()), "b");
  EXPECT_EQ(rule_of(client.read_response()), "c");
}

TEST_F(ApiTest, HoldsBackContinueUntilEarlierAnswersAreOut) {
  limiter_.defer();
  start();
  TestClient client(endpoint_);
  client.send(check("a") + "POST /v1/refund HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 17\r\n\r\n");
  wait_for_pending(1);
  limiter_.complete(0);
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(counts_->of_class(1), 1u);
  client.send(R"({"attributes":{}})");
  wait_for_pending(1);
  limiter_.complete(0);
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ApiTest, OnlySoManyRequestsOfAConnectionAreUnderWay) {
  limiter_.defer();
  start();
  TestClient client(endpoint_);
  std::string many;
  constexpr std::size_t kMany = 2 * kMaxInFlight + 5;
  for (std::size_t i = 0; i < kMany; ++i) many += check("a");
  client.send(many);
  wait_for_pending(kMaxInFlight);
  // Another connection's request goes around the loop, and still no more are under way.
  TestClient other(endpoint_);
  other.send(get("/healthz"));
  other.read_response();
  EXPECT_EQ(limiter_.pending(), kMaxInFlight);
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(eventually([&] { return limiter_.pending() > 0; }));
    limiter_.complete(0);
  }
  for (std::size_t i = 0; i < kMany; ++i) ASSERT_THAT(client.read_response(), StartsWith("HTTP/1.1 200")) << i;
}

TEST_F(ApiTest, ABatchOfALimiterThatAnswersLaterIsWholeAndInOrder) {
  limiter_.decide_by(named_after_tenant);
  limiter_.defer();
  start();
  TestClient client(endpoint_);
  client.send(post("/v1/check/batch", R"({"requests":[{"attributes":{"t":"a"}},{"attributes":{"t":"b"}}]})"));
  wait_for_pending(2);
  limiter_.complete(1);
  limiter_.complete(0);
  const std::string response = client.read_response();
  EXPECT_LT(response.find("\"rule\":\"a\""), response.find("\"rule\":\"b\""));
  EXPECT_NE(response.find("\"rule\":\"b\""), std::string::npos);
}

TEST_F(ApiTest, ADecisionForAClientThatHasLeftIsDropped) {
  limiter_.defer();
  start();
  {
    TestClient client(endpoint_);
    client.send(check("a"));
    wait_for_pending(1);
    // A reset, not a polite end: no one waits for the answer any more.
    const linger hard{.l_onoff = 1, .l_linger = 0};
    setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  ASSERT_TRUE(eventually([&] { return loops_.total().open == 0; }));
  limiter_.complete(0);
  EXPECT_THAT(ask(get("/healthz")), StartsWith("HTTP/1.1 200"));
}

TEST_F(ApiTest, HoldsAnAdmittedAnswerForItsDelayAndKeepsTheOrder) {
  limiter_.decide_by(named_after_tenant);
  start();
  TestClient client(endpoint_);
  client.send(post("/v1/check", R"({"attributes":{"t":"slow"},"wait_ms":500})") + check("b"));
  const std::string held = client.read_response();
  EXPECT_EQ(rule_of(held), "slow");
  EXPECT_THAT(held, HasSubstr("\"delay_ms\":0,"));
  EXPECT_EQ(rule_of(client.read_response()), "b");
  // A caller that does not wait long enough has to wait itself.
  client.send(post("/v1/check", R"({"attributes":{"t":"slow"},"wait_ms":19})"));
  EXPECT_THAT(client.read_response(), HasSubstr("\"delay_ms\":20,"));
  // A peek has nothing to wait for, and shows what the wait would be.
  client.send(post("/v1/check", R"({"attributes":{"t":"slow"},"wait_ms":500,"peek":true})"));
  EXPECT_THAT(client.read_response(), HasSubstr("\"delay_ms\":20,"));
}

TEST_F(ApiTest, DrainAnswersWhatIsUnderWayAndSaysGoodbye) {
  limiter_.defer();
  start();
  TestClient owed(endpoint_);
  TestClient half(endpoint_);
  owed.send(check("a"));
  wait_for_pending(1);
  half.send(get("/healthz") + "GET /healthz HTTP/1.1\r\n");
  EXPECT_THAT(half.read_response(), Not(HasSubstr("Connection: close")));
  std::thread draining([&] { loops_.drain(20s); });
  ASSERT_TRUE(eventually([&] { return !TestClient(endpoint_).connected(); }));
  limiter_.complete(0);
  EXPECT_THAT(owed.read_to_end(), testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close")));
  half.send("Host: h\r\n\r\n");
  EXPECT_THAT(half.read_to_end(), testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close")));
  owed.half_close();
  half.half_close();
  draining.join();
}

// The listener is gone, so the drain has begun, and only then the client sends.
TEST_F(ApiTest, ARequestThatCrossesTheDrainIsAnsweredWithAGoodbye) {
  start();
  TestClient kept(endpoint_);
  kept.send(get("/healthz"));
  EXPECT_THAT(kept.read_response(), Not(HasSubstr("Connection: close")));
  std::thread draining([&] { loops_.drain(1h, 1h); });
  ASSERT_TRUE(eventually([&] { return !TestClient(endpoint_).connected(); }));
  kept.send(get("/healthz") + get("/healthz"));
  const std::string answer = kept.read_to_end();
  EXPECT_THAT(answer, testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close")));
  EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << "nothing is answered behind a goodbye";
  kept.half_close();
  draining.join();
}

// Both have sent while the loop was busy: one on a connection that it knows, one on a connection that it does not.
TEST_F(ApiTest, RequestsThatArriveAtTheMomentOfTheDrainAreAnsweredWithAGoodbye) {
  start();
  TestClient known(endpoint_);
  known.send(get("/healthz"));
  known.read_response();
  // The loop is busy, and the drain is the next that it does.
  std::promise<void> busy;
  loops_.post(0, [until = busy.get_future().share()] { until.wait(); });
  std::promise<void> drained;
  loops_.post(0, [&] { loops_.loop(0).drain(1h, [&] { drained.set_value(); }); });
  known.send(get("/healthz"));
  TestClient fresh(endpoint_);
  fresh.send(get("/healthz"));
  busy.set_value();
  for (TestClient* client : {&known, &fresh}) {
    EXPECT_THAT(client->read_to_end(), testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close")));
    client->half_close();
  }
  drained.get_future().wait();
}

TEST_F(ApiTest, WhatStaysIdleIsClosedWhenTheGraceIsOver) {
  start();
  TestClient idle(endpoint_);
  TestClient begun(endpoint_);
  idle.send(get("/healthz"));
  idle.read_response();
  begun.send(get("/healthz"));
  begun.read_response();
  std::thread draining([&] { loops_.drain(1h, 20ms); });
  ASSERT_TRUE(eventually([&] { return !TestClient(endpoint_).connected(); }));
  begun.send("GET /healthz HTTP/1.1\r\n");
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_TRUE(idle.ended());
  // What has begun by then comes to its end.
  begun.send("Host: h\r\n\r\n");
  EXPECT_THAT(begun.read_to_end(), testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close")));
  idle.half_close();
  begun.half_close();
  draining.join();
}

// As far as it needs memory a large body is read only when there is memory for all of it.
TEST_F(ApiTest, ALargeBodyWaitsForMemoryAndIsThenRefused) {
  start({.shortage_timeout = 20ms});
  const std::size_t taken = memory_->most_for_large() - 50'000;
  ASSERT_TRUE(memory_->take(taken, transport::ConnectionMemory::Use::large));
  const std::string head = "POST /v1/check/batch HTTP/1.1\r\nHost: h\r\n";
  for (const std::string& message :
       {head + "Content-Length: 500000\r\n\r\n", head + "Content-Length: 500000\r\nExpect: 100-continue\r\n\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n70000\r\n" + std::string(40'000, 'x')}) {
    SCOPED_TRACE(message.substr(0, 120));
    TestClient client(endpoint_);
    client.send(message);
    const std::string answer = client.read_to_end();
    EXPECT_THAT(answer, testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("\r\nRetry-After: 1\r\n"),
                                       HasSubstr("Connection: close"), HasSubstr("short of memory")));
  }
  EXPECT_EQ(memory_->refused(), 3U);
  EXPECT_THAT(ask(check("small")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), StartsWith("HTTP/1.1 400"))
      << "a small body in chunks needs no more than another";
  memory_->give_back(taken);
  TestClient client(endpoint_);
  client.send(head + "Content-Length: 500000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  EXPECT_GE(memory_->used(), 500'000U) << "all of it is reserved before any of it is read";
  client.send(std::string(500'000, ' '));
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 400"));
  EXPECT_TRUE(eventually([&] { return memory_->used() < 100'000; })) << memory_->used();
}

TEST_F(ApiTest, AFloodOfCheapRequestsWithLargeAnswersIsHeldBack) {
  start({.output_bytes = 64 << 10});
  TestClient client(endpoint_);
  std::string many;
  constexpr int kMany = 1000;
  for (int i = 0; i < kMany; ++i) many += get("/openapi.json");
  std::thread sending([&] { client.send(many); });
  for (int i = 0; i < kMany; ++i) ASSERT_THAT(client.read_response().size(), testing::Gt(openapi_json().size())) << i;
  sending.join();
}

}  // namespace
}  // namespace weir::http
