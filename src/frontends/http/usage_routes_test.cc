// /v1/usage on real sockets with a toy recorder: what is recorded for whom, and what clients see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <mutex>

#include "frontends/http/http_protocol.h"
#include "frontends/http/usage_handler.h"
#include "frontends/transport/loops.h"
#include "tests/support/request_identity.h"
#include "tests/support/test_client.h"

namespace weir::http {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using transport::eventually;
using transport::TestClient;

UsageAnswer counted_by(std::int64_t rules) {
  UsageAnswer answer;
  answer.rules = rules;
  return answer;
}
UsageAnswer failed(Code status, std::string message) {
  UsageAnswer answer;
  answer.status = status;
  answer.message = std::move(message);
  return answer;
}

// Notes what it is told and gives the answers that the test sets, then good ones; at once, or when asked to.
class ToyRecorder final : public UsageRecorder {
 public:
  void record(const UsageReport& report, std::function<void(const UsageAnswer&)> done) override {
    const std::lock_guard lock(mutex_);
    std::string text(report.caller);
    for (const Attribute& each : report.request.attributes) {
      text += " " + std::string(each.name) + "=" + std::string(each.value);
    }
    recorded_.push_back(text + " amount=" + std::to_string(report.amount) +
                        (report.request.derived > 0 ? " derived" : ""));
    UsageAnswer answer = counted_by(1);
    if (!answers_.empty()) {
      answer = answers_.front();
      answers_.pop_front();
    }
    if (late_) {
      waiting_.emplace_back(std::move(done), answer);
    } else {
      done(answer);
    }
  }
  void answer_with(std::deque<UsageAnswer> answers) { answers_ = std::move(answers); }
  void wait() { late_ = true; }
  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  // The last of those that wait.
  void answer_one() {
    std::unique_lock lock(mutex_);
    const auto [done, answer] = std::move(waiting_.back());
    waiting_.pop_back();
    lock.unlock();
    done(answer);
  }
  std::vector<std::string> recorded() {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }

 private:
  std::mutex mutex_;
  bool late_ = false;
  std::deque<UsageAnswer> answers_;
  std::vector<std::pair<std::function<void(const UsageAnswer&)>, UsageAnswer>> waiting_;
  std::vector<std::string> recorded_;
};

class UsageRoutes : public testing::Test {
 protected:
  void start(const UsageOptions& options = {}) {
    const auto bound = loops_.listen(
        {.endpoint = transport::parse_endpoint("127.0.0.1:0").value(), .protocols = [this, options](std::size_t) {
           auto router = std::make_shared<Router>();
           add_usage_routes(*router, recorder_, options);
           return http_protocols(std::move(router));
         }});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }
  static std::string text(std::string_view body, std::string_view fields) {
    return "POST /v1/usage HTTP/1.1\r\nHost: h\r\n" + std::string(fields) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }
  std::string post(std::string_view body, std::string_view fields = "") {
    TestClient client(endpoint_);
    client.send(text(body, fields));
    return client.read_response();
  }

  ToyRecorder recorder_;
  transport::Loops loops_{1};
  transport::Endpoint endpoint_;
};

constexpr std::string_view kReport = R"({"attributes":{"tenant":"acme"},"amount":3})";
constexpr std::string_view kBatchField = "Content-Type: application/cloudevents-batch+json\r\n";

std::string events(std::initializer_list<const char*> attributes) {
  std::string all = "[";
  for (const char* each : attributes) {
    if (all.size() > 1) all += ',';
    all += R"({"specversion":"1.0","id":"1","source":"s","data":{"attributes":)" + std::string(each) + "}}";
  }
  return all + "]";
}

TEST_F(UsageRoutes, AReportIsRecordedAndItsResultIsTold) {
  UsageAnswer full = counted_by(2);
  full.replayed = true;
  full.debt = 3;
  full.uncharged = 4;
  full.overage = 5;
  recorder_.answer_with({full});
  start();
  const std::string answer = post(kReport);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(answer, EndsWith(R"({"results":[{"recorded":true,"duplicate":true,"rules":2,"debt":3,"uncharged":4,)"
                               R"("overage":5}]})"));
  EXPECT_THAT(post(kReport), EndsWith(R"({"results":[{"recorded":true,"duplicate":false,"rules":1,"debt":0,)"
                                      R"("uncharged":0,"overage":0}]})"));
  EXPECT_THAT(recorder_.recorded(), ElementsAre(" tenant=acme amount=3", " tenant=acme amount=3"));
}

TEST_F(UsageRoutes, AReportThatIsNotRecordedIsAProblem) {
  recorder_.answer_with(
      {failed(Code::unavailable, "the ledger is away"), failed(Code::invalid_argument, "the period is closed")});
  start();
  const std::string away = post(kReport);
  EXPECT_THAT(away, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(away, HasSubstr("the ledger is away"));
  const std::string closed = post(kReport);
  EXPECT_THAT(closed, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(closed, HasSubstr("the period is closed"));
}

TEST_F(UsageRoutes, ABatchHasAResultForEachEventAndTheWorstStatus) {
  const UsageAnswer good = counted_by(1), bad = failed(Code::invalid_argument, "no"),
                    away = failed(Code::unavailable, "later");
  const std::string result = R"({"recorded":true,"duplicate":false,"rules":1,"debt":0,"uncharged":0,"overage":0})";
  const auto wrong = [](const char* message) {
    return R"({"recorded":false,"duplicate":false,"rules":0,"debt":0,"uncharged":0,"overage":0,"error":")" +
           std::string(message) + "\"}";
  };
  recorder_.answer_with({good, good, good, bad, bad, away, away, bad});
  start();
  const std::string two = events({"{}", "{}"});
  const std::string first = post(two, kBatchField);
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(first, EndsWith("{\"results\":[" + result + "," + result + "]}"));
  const std::string second = post(two, kBatchField);
  EXPECT_THAT(second, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(second, EndsWith("{\"results\":[" + result + "," + wrong("no") + "]}"));
  EXPECT_THAT(post(two, kBatchField), StartsWith("HTTP/1.1 503 "));
  const std::string last = post(two, kBatchField);
  EXPECT_THAT(last, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(last, EndsWith("{\"results\":[" + wrong("later") + "," + wrong("no") + "]}"));
}

TEST_F(UsageRoutes, ABatchIsAnsweredWhenItsLastResultIsThere) {
  recorder_.answer_with({counted_by(1), counted_by(2)});
  recorder_.wait();
  start();
  TestClient client(endpoint_);
  client.send(text(events({"{}", "{}"}), kBatchField));
  ASSERT_TRUE(eventually([&] { return recorder_.waiting() == 2; }));
  recorder_.answer_one();
  recorder_.answer_one();
  EXPECT_THAT(client.read_response(), HasSubstr(R"("rules":1,"debt":0,"uncharged":0,"overage":0},{"recorded":true,)"
                                                R"("duplicate":false,"rules":2,)"));
}

TEST_F(UsageRoutes, AnEmptyBatchAsksNothing) {
  start();
  const std::string answer = post("[]", kBatchField);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, EndsWith(R"({"results":[]})"));
  EXPECT_THAT(recorder_.recorded(), IsEmpty());
}

TEST_F(UsageRoutes, WhatCannotBeReadIsRefusedAndNothingIsRecorded) {
  start();
  EXPECT_THAT(post(R"({"amount":1})"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(post(events({"{}", "7"}), kBatchField), HasSubstr("[1].attributes: must be an object"));
  EXPECT_THAT(recorder_.recorded(), IsEmpty());
}

TEST_F(UsageRoutes, ReportsAreOfTheAuthenticatedCaller) {
  UsageOptions options;
  options.caller_of = [](const HttpRequest& request) {
    const HttpField* const caller = request.find("X-Caller");
    return std::string(caller == nullptr ? std::string_view() : caller->value);
  };
  start(options);
  post(kReport, "X-Caller: gateway\r\n");
  post(events({"{}", "{}"}), "X-Caller: jobs\r\n" + std::string(kBatchField));
  EXPECT_THAT(recorder_.recorded(), ElementsAre("gateway tenant=acme amount=3", "jobs amount=1", "jobs amount=1"));
}

TEST_F(UsageRoutes, IdentityReplacesTheAttributesAndRefusesAWholeBatch) {
  UsageOptions options;
  options.identity = std::make_shared<transport::ToyRequestIdentity>();
  start(options);
  EXPECT_THAT(post(events({R"({"ip":"a"})", R"({"ip":"b"})"}), kBatchField), StartsWith("HTTP/1.1 200 "));
  const auto recorded = ElementsAre(" ip=net(a) made=yes amount=1 derived", " ip=net(b) made=yes amount=1 derived");
  EXPECT_THAT(recorder_.recorded(), recorded);

  const std::string refused = post(events({R"({"ip":"a"})", R"({"key":"revoked"})"}), kBatchField);
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(refused, HasSubstr("\"[1].attributes: the credentials in them are not accepted\""));
  EXPECT_THAT(post(R"({"attributes":{"key":"revoked"}})"), HasSubstr("\"attributes: the credentials"));
  const std::string malformed = post(events({R"({"ip":"a"})", R"({"ip":"nowhere"})"}), kBatchField);
  EXPECT_THAT(malformed, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(malformed, HasSubstr("[1].attributes.ip: is not an IP address"));
  EXPECT_THAT(post(R"({"attributes":{"ip":"nowhere"}})"), HasSubstr("\"attributes.ip: is not an IP address"));
  EXPECT_THAT(recorder_.recorded(), recorded);
}

TEST_F(UsageRoutes, ABodyHasABound) {
  UsageOptions options;
  options.body_bytes = kReport.size();
  start(options);
  EXPECT_THAT(post(kReport), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(post(std::string(kReport) + " "), StartsWith("HTTP/1.1 413 "));
}

}  // namespace
}  // namespace weir::http
