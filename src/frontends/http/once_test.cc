// Idempotency-Key on every route that changes something, on real sockets with a toy limiter.
#include "frontends/http/once.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/http/api.h"
#include "frontends/http/http_protocol.h"
#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"
#include "tests/support/toy_limiter.h"

namespace weir::http {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using transport::eventually;
using transport::TestClient;

constexpr std::string_view kAcme = R"({"attributes":{"tenant":"acme"}})";
constexpr const char* kReplayed = "\r\nIdempotent-Replayed: true\r\n";

class Once : public testing::Test {
 protected:
  void start(IdempotencyTable::Bounds bounds = {}, bool required = false) {
    table_ = std::make_shared<IdempotencyTable>(bounds);
    const auto bound = loops_.listen(
        {.endpoint = transport::parse_endpoint("127.0.0.1:0").value(), .protocols = [this, required](std::size_t) {
           ApiOptions options;
           options.once = {.table = table_, .clock = clock_, .required = required};
           options.once.caller_of = [](const HttpRequest& request) {
             const HttpField* const caller = request.find("X-Caller");
             return std::string(caller == nullptr ? std::string_view() : caller->value);
           };
           return http_protocols(make_api_router(limiter_, options));
         }});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  static std::string text(std::string_view method, std::string_view path, std::string_view body,
                          const std::string& fields) {
    return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }
  std::string ask(std::string_view method, std::string_view path, std::string_view body, const std::string& fields) {
    TestClient client(endpoint_);
    client.send(text(method, path, body, fields));
    return client.read_response();
  }
  std::string check(std::string_view body, const std::string& key, const std::string& more = "") {
    return ask("POST", "/v1/check", body, "Idempotency-Key: " + key + "\r\n" + more);
  }

  ToyLimiter limiter_;
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<IdempotencyTable> table_;
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

TEST_F(Once, EveryRouteThatChangesSomethingIsCalledOnce) {
  start();
  const std::tuple<const char*, const char*, std::string> kWrites[] = {
      {"POST", "/v1/check", std::string(kAcme)},
      {"POST", "/v1/check/batch", R"({"requests":[{"attributes":{"tenant":"acme"}}]})"},
      {"POST", "/v1/refund", std::string(kAcme)},
      {"POST", "/v1/reset", std::string(kAcme)},
      {"POST", "/v1/leases", std::string(kAcme)},
      {"POST", "/v1/leases/h/renew", "{}"},
      {"DELETE", "/v1/leases/h", ""},
      {"POST", "/v1/reservations", R"({"attributes":{"tenant":"acme"},"amount":1})"},
      {"POST", "/v1/reservations/h/commit", R"({"actual":1})"},
      {"POST", "/v1/reservations/h/release", ""},
      {"POST", "/v1/reservations/h/extend", R"({"add":1})"},
  };
  const auto asked = [&] {
    return limiter_.asked().size() + limiter_.leases()->asked().size() + limiter_.reservations()->asked().size();
  };
  for (const auto& [method, path, body] : kWrites) {
    const std::string key = "Idempotency-Key: \"" + std::string(path) + "\"\r\n";
    const std::string first = ask(method, path, body, key);
    EXPECT_THAT(first, StartsWith("HTTP/1.1 20")) << path;
    EXPECT_THAT(first, Not(HasSubstr(kReplayed))) << path;
    const std::size_t calls = asked();
    const std::string again = ask(method, path, body, key);
    EXPECT_THAT(again, HasSubstr(kReplayed)) << path;
    EXPECT_EQ(again.substr(again.find("\r\n\r\n")), first.substr(first.find("\r\n\r\n"))) << path;
    EXPECT_EQ(again.substr(0, 12), first.substr(0, 12)) << path;
    EXPECT_EQ(asked(), calls) << path;
  }
}

TEST_F(Once, AKeyIsReadQuotedOrBareAndCheckedStrictly) {
  start();
  check(kAcme, "\"a-1\"");
  EXPECT_THAT(check(kAcme, "a-1"), HasSubstr(kReplayed));
  for (const std::string& wrong :
       {std::string(), std::string("\"\""), std::string("\"a"), std::string("\"a\\"), std::string("\"a\\x\""),
        std::string("a b"), std::string("a,b"), std::string("\"a\"b\""), std::string(257, 'k')}) {
    EXPECT_THAT(check(kAcme, wrong), StartsWith("HTTP/1.1 400")) << wrong;
  }
  EXPECT_THAT(check(kAcme, "a", "Idempotency-Key: a\r\n"), HasSubstr("is given twice"));
  EXPECT_EQ(limiter_.asked().size(), 1u);
}

TEST_F(Once, AnotherRequestWithTheSameKeyIsRefused) {
  start();
  check(kAcme, "k");
  const std::string other = check(R"({"attributes":{"tenant":"acme"},"cost":2})", "k");
  EXPECT_THAT(other, StartsWith("HTTP/1.1 422 "));
  EXPECT_THAT(other, HasSubstr("was used for another request"));
  EXPECT_THAT(ask("POST", "/v1/refund", kAcme, "Idempotency-Key: k\r\n"), StartsWith("HTTP/1.1 422 "));
  EXPECT_EQ(limiter_.asked().size(), 1u);
}

TEST_F(Once, KeysBelongToTheirCallerAndTenant) {
  start();
  check(kAcme, "k");
  EXPECT_THAT(check(kAcme, "k", "X-Caller: other\r\n"), Not(HasSubstr(kReplayed)));
  EXPECT_THAT(check(R"({"attributes":{"user":"x","tenant":"other"}})", "k"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(check(kAcme, "k", "X-Caller: other\r\n"), HasSubstr(kReplayed));
  EXPECT_EQ(limiter_.asked().size(), 3u);
}

TEST_F(Once, ASecondCallWhileTheFirstIsRunningIsToldSo) {
  limiter_.leases()->defer();
  start();
  const std::string request = text("POST", "/v1/leases", kAcme, "Idempotency-Key: k\r\n");
  {
    TestClient first(endpoint_);
    first.send(request);
    ASSERT_TRUE(eventually([&] { return limiter_.leases()->pending() == 1; }));
    const std::string second = ask("POST", "/v1/leases", kAcme, "Idempotency-Key: k\r\n");
    EXPECT_THAT(second, StartsWith("HTTP/1.1 409 "));
    EXPECT_THAT(second, HasSubstr("Retry-After: 1\r\n"));
  }
  // The first client has left; what was done for it is replayed all the same.
  limiter_.leases()->complete(0);
  ASSERT_TRUE(eventually(
      [&] { return ask("POST", "/v1/leases", kAcme, "Idempotency-Key: k\r\n").find(kReplayed) != std::string::npos; }));
  EXPECT_EQ(limiter_.leases()->asked().size(), 1u);
}

TEST_F(Once, ADenialIsReplayedUntilItsWaitIsOver) {
  limiter_.decide_by(ToyLimiter::denied);  // for 1,200 ms
  start();
  EXPECT_THAT(check(kAcme, "k"), StartsWith("HTTP/1.1 429"));
  clock_->advance(std::chrono::microseconds(1'199'999));
  EXPECT_THAT(check(kAcme, "k"), HasSubstr(kReplayed));
  clock_->advance(std::chrono::microseconds(1));
  limiter_.decide_by(ToyLimiter::allowed);
  const std::string afresh = check(kAcme, "k");
  EXPECT_THAT(afresh, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(afresh, Not(HasSubstr(kReplayed)));
  EXPECT_THAT(check(kAcme, "k"), HasSubstr(kReplayed));
}

TEST_F(Once, AnswersAreForgottenAfterTheirTime) {
  start();
  check(kAcme, "k");
  clock_->advance(std::chrono::hours(24) - std::chrono::microseconds(1));
  EXPECT_THAT(check(kAcme, "k"), HasSubstr(kReplayed));
  clock_->advance(std::chrono::microseconds(1));
  EXPECT_THAT(check(kAcme, "k"), Not(HasSubstr(kReplayed)));
}

TEST_F(Once, WhatHadNoEffectIsNotRecorded) {
  limiter_.leases()->answer_by([](const LeaseQuestion&) {
    LeaseAnswer answer;
    answer.fault = HoldFault::gone;
    return answer;
  });
  start();
  EXPECT_THAT(check("{", "k"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(check(kAcme, "k"), StartsWith("HTTP/1.1 200")) << "the key is free";
  EXPECT_THAT(ask("POST", "/v1/leases", kAcme, "Idempotency-Key: l\r\n"), StartsWith("HTTP/1.1 410"));
  EXPECT_EQ(table_->size(), 1u);
}

TEST_F(Once, AFullTableRefusesNewKeysAndReplaysTheOldOnes) {
  start({.entries = 2});
  check(kAcme, "a");
  check(kAcme, "b");
  const std::string full = check(kAcme, "c");
  EXPECT_THAT(full, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(full, HasSubstr("there is no room for another key"));
  EXPECT_THAT(check(kAcme, "a"), HasSubstr(kReplayed));
  EXPECT_THAT(ask("POST", "/v1/check", kAcme, ""), StartsWith("HTTP/1.1 200")) << "requests without a key are served";
  clock_->advance(std::chrono::hours(24));
  EXPECT_THAT(check(kAcme, "c"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Once, AKeyCanBeRequired) {
  start({}, /*required=*/true);
  for (const char* path : {"/v1/refund", "/v1/reset", "/v1/leases"}) {
    EXPECT_THAT(ask("POST", path, kAcme, ""), HasSubstr("Idempotency-Key: is missing")) << path;
  }
  EXPECT_THAT(ask("POST", "/v1/check", kAcme, ""), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET", "/v1/leases?tenant=acme", "", ""), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("POST", "/v1/refund", kAcme, "Idempotency-Key: k\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Once, WithoutATableKeysAreRefusedAndNotIgnored) {
  start();
  OnceOptions none;
  bool called = false;
  const Handler handler = once(none, [&](const HttpRequest&, ResponseWriter&) { called = true; });
  auto router = std::make_shared<Router>();
  router->add({.method = "POST", .path = "/x", .handler = handler, .open = true});
  transport::Loops loops(1);
  const auto bound = loops.listen({.endpoint = transport::parse_endpoint("127.0.0.1:0").value(),
                                   .protocols = [&](std::size_t) { return http_protocols(router); }});
  ASSERT_TRUE(bound.ok());
  loops.start();
  TestClient client(bound.value());
  client.send(text("POST", "/x", "{}", "Idempotency-Key: k\r\n"));
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 400"));
  EXPECT_FALSE(called);
}

TEST(IdempotencyTable, HasABoundInBytes) {
  IdempotencyTable table({.entries = 1'000, .bytes = 4'096});
  RecordedAnswer answer;
  const TimePoint now = from_micros(1'000'000);
  for (int i = 0; i < 100; ++i) {
    const std::string scope = IdempotencyTable::scope_of("c", "t", std::to_string(i));
    if (table.begin(scope, {1, 1}, now, answer) != IdempotencyTable::Found::fresh) continue;
    table.finish(scope, {.status = 200, .content_type = {}, .fields = {}, .body = std::string(500, 'x')}, now,
                 now + std::chrono::seconds(i + 1));
  }
  EXPECT_LE(table.size(), 6u);
  EXPECT_GE(table.size(), 4u);
  // An answer that does not fit is not kept, and what it had is free again.
  const TimePoint later = now + std::chrono::hours(1);
  EXPECT_EQ(table.begin("big", {1, 1}, later, answer), IdempotencyTable::Found::fresh);
  EXPECT_EQ(table.size(), 1u) << "the others have expired";
  table.finish("big", {.status = 200, .content_type = {}, .fields = {}, .body = std::string(5'000, 'x')}, later,
               later + Duration{1});
  EXPECT_EQ(table.size(), 0u);
}

TEST(IdempotencyTable, AnAnswerThatIsHeldBackIsNotReplayedBeforeItIsSent) {
  IdempotencyTable table({});
  RecordedAnswer answer;
  const TimePoint now = from_micros(1'000'000);
  const TimePoint sent = now + std::chrono::seconds(4);
  EXPECT_EQ(table.begin("held", {1, 1}, now, answer), IdempotencyTable::Found::fresh);
  table.finish("held", {.status = 200, .content_type = {}, .fields = {}, .body = "turn"}, sent,
               sent + std::chrono::seconds(1));
  EXPECT_EQ(table.begin("held", {1, 1}, sent - Duration{1}, answer), IdempotencyTable::Found::running);
  EXPECT_EQ(table.begin("held", {1, 1}, sent, answer), IdempotencyTable::Found::replayed);
  EXPECT_EQ(answer.body, "turn");
}

TEST(IdempotencyTable, ScopesOfDifferentPartsDiffer) {
  EXPECT_NE(IdempotencyTable::scope_of("a", "bc", "d"), IdempotencyTable::scope_of("ab", "c", "d"));
  EXPECT_NE(IdempotencyTable::scope_of("", "a", "b"), IdempotencyTable::scope_of("a", "", "b"));
  EXPECT_NE(IdempotencyTable::scope_of("a", "1:b", "c"), IdempotencyTable::scope_of("a", "1", "bc"));
}

}  // namespace
}  // namespace weir::http
