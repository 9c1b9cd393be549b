// /v1/leases and /v1/reservations on real sockets with toy limiters: what clients see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/http/hold_handler.h"
#include "frontends/http/http_protocol.h"
#include "frontends/http/idempotency_field.h"
#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"
#include "tests/support/toy_limiter.h"

namespace weir::http {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using transport::eventually;
using transport::TestClient;

constexpr std::string_view kBody = R"({"attributes":{"tenant":"acme"}})";

std::string send(std::string_view method, std::string_view path, std::string_view body = "",
                 std::string_view fields = "") {
  return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

class HoldRoutes : public testing::Test {
 protected:
  void start(HoldOptions options = {}) {
    const auto bound = loops_.listen(
        {.endpoint = transport::parse_endpoint("127.0.0.1:0").value(), .protocols = [this, options](std::size_t) {
           auto router = std::make_shared<Router>();
           add_hold_routes(*router, limiter_, options);
           return http_protocols(std::move(router));
         }});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  std::string ask(const std::string& request) {
    TestClient client(endpoint_);
    client.send(request);
    return client.read_response();
  }
  std::string post(std::string_view path, std::string_view body, std::string_view fields = "") {
    return ask(send("POST", path, body, fields));
  }
  std::string asked_of_leases() { return limiter_.leases()->asked().back(); }
  std::string asked_of_reservations() { return limiter_.reservations()->asked().back(); }

  ToyLimiter limiter_;
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

TEST_F(HoldRoutes, ALeaseIsCreatedWithItsHandleTokenAndExpiry) {
  start();
  const std::string answer =
      post("/v1/leases", R"({"attributes":{"tenant":"acme"},"cost":2,"id":"job-7","ttl_ms":30000})");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 201 Created\r\n"));
  EXPECT_THAT(answer, HasSubstr(R"({"lease":"toy-lease","fencing_token":1800000000000000,)"
                                R"("expires_at_ms":1800000030000,"ttl_ms":30000,"allowed":true,)"));
  EXPECT_EQ(asked_of_leases(), "acquire tenant=acme cost=2 ttl=30000ms id=job-7");
}

TEST_F(HoldRoutes, AnIdThatHasALeaseAnswers200) {
  limiter_.leases()->answer_by([](const LeaseQuestion& question) {
    LeaseAnswer answer = ToyLeases::granted(question);
    answer.created = false;
    return answer;
  });
  start();
  EXPECT_THAT(post("/v1/leases", kBody), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HoldRoutes, ALeaseGivenWithoutTheStoreHasNoFencingToken) {
  limiter_.leases()->answer_by([](const LeaseQuestion& question) {
    LeaseAnswer answer = ToyLeases::granted(question);
    answer.fencing_token.reset();
    answer.decision.degraded = true;
    return answer;
  });
  start();
  EXPECT_THAT(post("/v1/leases", kBody), HasSubstr(R"("fencing_token":null,)"));
}

TEST_F(HoldRoutes, ADeniedLeaseIsAProblemWithItsCode) {
  limiter_.leases()->answer_by(ToyLeases::denied);
  start({.append_fields = [](std::string& out, const Decision&) { out += "Retry-After: 1\r\n"; }});
  const std::string answer = post("/v1/leases", kBody);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nRetry-After: 1\r\n"));
  EXPECT_THAT(answer, HasSubstr(R"("code":"concurrency_exceeded")"));
}

TEST_F(HoldRoutes, ALeaseIsRenewedAndReleasedByItsHandle) {
  start();
  EXPECT_THAT(post("/v1/leases/abc.DEF-_/renew", R"({"ttl_ms":60000})"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(asked_of_leases(), "renew handle=abc.DEF-_ ttl=60000ms");
  EXPECT_THAT(post("/v1/leases/abc/renew", ""), StartsWith("HTTP/1.1 200 OK\r\n")) << "the body is optional";
  const std::string released = ask(send("DELETE", "/v1/leases/abc"));
  EXPECT_THAT(released, StartsWith("HTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(released, Not(HasSubstr("Content-Length")));
  EXPECT_EQ(asked_of_leases(), "release handle=abc");
}

TEST_F(HoldRoutes, EveryFaultHasItsStatusItsCodeAndAMessage) {
  start();
  const std::pair<HoldFault, const char*> kFaults[] = {{HoldFault::invalid, "400"}, {HoldFault::forged, "404"},
                                                       {HoldFault::gone, "410"},    {HoldFault::closed, "409"},
                                                       {HoldFault::running, "409"}, {HoldFault::other_body, "422"},
                                                       {HoldFault::full, "503"},    {HoldFault::unavailable, "503"}};
  for (const auto& [fault, status] : kFaults) {
    limiter_.leases()->answer_by([fault = fault](const LeaseQuestion&) {
      LeaseAnswer answer;
      answer.fault = fault;
      answer.message = "acquire a new lease";
      return answer;
    });
    const std::string answer = post("/v1/leases/abc/renew", "");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::string(status)));
    EXPECT_THAT(answer, HasSubstr(R"("detail":"acquire a new lease","code":")" + std::string(hold_fault_name(fault))));
    EXPECT_EQ(answer.find("Retry-After: 1\r\n") != std::string::npos, std::string_view(status) == "503");
  }
}

TEST_F(HoldRoutes, AReservationIsMadeSettledAndShown) {
  start();
  const std::string made = post("/v1/reservations", R"({"attributes":{"user":"u1"},"amount":2000,"ttl_ms":5000,)"
                                                    R"("partial":true,"id":"r1"})");
  EXPECT_THAT(made, StartsWith("HTTP/1.1 201 Created\r\n"));
  EXPECT_THAT(made, HasSubstr(R"({"reservation":"toy-reservation","id":"000102030405060708090a0b0c0d0e0f",)"
                              R"("state":"open","granted":2000,"expires_at_ms":1800000060000,)"));
  EXPECT_EQ(asked_of_reservations(), "reserve user=u1 cost=1 amount=2000 ttl=5000ms partial id=r1");

  const std::string settled = post("/v1/reservations/h1/commit", R"({"actual":40})");
  EXPECT_THAT(settled, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(settled, HasSubstr(R"("state":"committed","granted":100,"actual":40,"returned":60,"debt":0,)"));
  EXPECT_EQ(asked_of_reservations(), "commit handle=h1 actual=40");

  EXPECT_THAT(post("/v1/reservations/h1/extend", R"({"ttl_ms":1000,"add":50})"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(asked_of_reservations(), "extend handle=h1 amount=50 ttl=1000ms");
  EXPECT_THAT(post("/v1/reservations/h1/release", ""), HasSubstr(R"("state":"released")"));
  EXPECT_THAT(ask(send("GET", "/v1/reservations/h1")), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(asked_of_reservations(), "get handle=h1");
}

TEST_F(HoldRoutes, AnEstimateTakesThePlaceOfAnAmount) {
  start();
  EXPECT_THAT(post("/v1/reservations", R"({"attributes":{"user":"u1"},"estimate":"auto","dry_run":true})"),
              HasSubstr(R"("granted":100,"estimated":100,)"));
  EXPECT_EQ(asked_of_reservations(), "reserve user=u1 cost=1 dry_run");
}

std::string many_attributes(int count) {
  std::string query;
  for (int i = 0; i < count; ++i) query += (i == 0 ? "?a" : "&a") + std::to_string(i) + "=v";
  return query;
}

TEST_F(HoldRoutes, ListsTakeTheSubjectFromTheQuery) {
  limiter_.leases()->answer_by([](const LeaseQuestion&) {
    LeaseAnswer answer;
    answer.list.push_back({"exports-active", "h1", 1, from_micros(1'800'000'000'000'000)});
    answer.list_cut = true;
    return answer;
  });
  start();
  EXPECT_THAT(ask(send("GET", "/v1/leases?tenant=ac%20me&action=export")),
              EndsWith(R"({"leases":[{"rule":"exports-active","lease":"h1","units":1,"expires_at_ms":1800000000000}],)"
                       R"("complete":false})"));
  EXPECT_EQ(asked_of_leases(), "list tenant=ac me action=export cost=1");
  ask(send("GET", "/v1/leases?tenant=other"));
  EXPECT_EQ(asked_of_leases(), "list tenant=other cost=1");
  EXPECT_THAT(ask(send("GET", "/v1/reservations?tenant=acme")), EndsWith(R"({"reservations":[],"complete":true})"));
  const std::string long_name = "?" + std::string(129, 'n') + "=v";
  const std::string long_value = "?tenant=" + std::string(4097, 'v');
  for (const std::string& query :
       {std::string(), std::string("?"), std::string("?tenant"), std::string("?tenant=%zz"), std::string("?=acme"),
        std::string("?tenant=%00"), std::string("?tenant=%ff"), long_name, long_value, many_attributes(65)}) {
    EXPECT_THAT(ask(send("GET", "/v1/leases" + query)), StartsWith("HTTP/1.1 400")) << query;
  }
  EXPECT_THAT(ask(send("GET", "/v1/leases" + many_attributes(64))), StartsWith("HTTP/1.1 200"));
}

struct BadBody {
  const char* path;
  const char* body;
  const char* message;
};

TEST_F(HoldRoutes, BadInputNamesTheMemberAndAsksTheLimiterNothing) {
  start();
  const BadBody kBodies[] = {
      {"/v1/leases", "", "the body is empty"},
      {"/v1/leases", "{}", "attributes: is missing"},
      {"/v1/leases", R"({"attributes":{"a":"b"},"ttl_ms":0})", "ttl_ms: must be a whole number of milliseconds"},
      {"/v1/leases", R"({"attributes":{"a":"b"},"ttl_ms":31536000000})", "from 10 to 86400000"},
      {"/v1/leases", R"({"attributes":{"a":"b"},"cost":9223372036854775808})", "cost: must be a whole number"},
      {"/v1/leases", R"({"attributes":{"a":"b"},"id":""})", "id: must have 1 to 256 bytes"},
      {"/v1/leases", R"({"attributes":{"a":"b"},"id":7})", "id: must be a string"},
      {"/v1/leases", R"({"attributes":{"a":"b"},"peek":true})", "peek: is not known here"},
      {"/v1/leases/h/renew", R"({"ttl_ms":"30s"})", "ttl_ms: must be"},
      {"/v1/reservations", R"({"attributes":{"a":"b"}})", "amount: is missing"},
      {"/v1/reservations", R"({"attributes":{"a":"b"},"amount":-1})", "amount: must be a whole number"},
      {"/v1/reservations", R"({"attributes":{"a":"b"},"amount":1.5})", "amount: must be a whole number"},
      {"/v1/reservations", R"({"attributes":{"a":"b"},"amount":1,"estimate":"auto"})",
       "estimate: cannot be combined "
       "with amount"},
      {"/v1/reservations", R"({"attributes":{"a":"b"},"estimate":"high"})", "estimate: must be \\\"auto\\\""},
      {"/v1/reservations/h/commit", "{}", "actual: is missing"},
      {"/v1/reservations/h/commit", R"({"actual":1,"actual":2})", "actual: is given twice"},
      {"/v1/reservations/h/extend", "{}", "ttl_ms: is missing; give ttl_ms, add or both"},
      {"/v1/reservations/h/release", R"({"actual":1})", "actual: is not known here"},
  };
  for (const BadBody& bad : kBodies) {
    const std::string answer = post(bad.path, bad.body);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n")) << bad.body;
    EXPECT_THAT(answer, HasSubstr(bad.message)) << bad.body;
  }
  EXPECT_THAT(post("/v1/leases", R"({"attributes":{"a":"b"},"id":")" + std::string(10'000, 'x') + R"("})"),
              HasSubstr("id: must have 1 to 256 bytes"));
  EXPECT_THAT(post("/v1/leases?deny_status=403", kBody), HasSubstr("takes no query parameters"));
  EXPECT_TRUE(limiter_.leases()->asked().empty());
  EXPECT_TRUE(limiter_.reservations()->asked().empty());
}

TEST_F(HoldRoutes, TheHashOfARequestCoversAllOfIt) {
  const HttpRequest first{.method = "POST", .path = "/v1/leases", .query = "", .fields = {}, .body = "{}"};
  HttpRequest same = first;
  EXPECT_EQ(hash_of_request(first), hash_of_request(same));
  same.body = "{ }";
  EXPECT_NE(hash_of_request(first), hash_of_request(same));
  same = first;
  same.path = "/v1/reservations";
  EXPECT_NE(hash_of_request(first), hash_of_request(same));
  same = first;
  same.path = "/v1/leas";
  same.query = "es";
  EXPECT_NE(hash_of_request(first), hash_of_request(same)) << "no two requests give the same bytes";
}

TEST_F(HoldRoutes, AReplayedAnswerSaysSo) {
  limiter_.reservations()->answer_by([](const ReservationQuestion& question) {
    ReservationAnswer answer = ToyReservations::granted(question);
    answer.replayed = true;
    return answer;
  });
  start();
  const std::string answer = post("/v1/reservations/h/commit", R"({"actual":1})");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("\r\nIdempotent-Replayed: true\r\n"));
}

TEST_F(HoldRoutes, AnAnswerThatComesLaterIsWrittenOnTheConnection) {
  limiter_.leases()->defer();
  start();
  TestClient client(endpoint_);
  client.send(send("POST", "/v1/leases", kBody));
  ASSERT_TRUE(eventually([&] { return limiter_.leases()->pending() == 1; }));
  limiter_.leases()->complete(0);
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 201 Created\r\n"));
}

}  // namespace
}  // namespace weir::http
