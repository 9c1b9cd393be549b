#include "frontends/resp/lease_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "frontends/resp/resp_protocol.h"
#include "tests/support/recording_link.h"

namespace weir::resp {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LeaseCommandTest : public testing::Test {
 protected:
  LeaseCommandTest() {
    Rules rules;
    rules.rules.resize(1);
    rules.rules[0].id = "active";
    rules.rules[0].per = {"tenant"};
    rules.rules[0].kind = ChargeKind::lease;
    rules.rules[0].allowance.limit = 2;
    rules.rules[0].lease = std::chrono::seconds(30);
    LimiterOptions options;
    options.clock = clock_;
    Result<std::unique_ptr<Limiter>> made = Limiter::create(rules, options);
    if (!made.ok()) throw std::runtime_error(made.failure().message);
    limiter_ = std::move(made).value();
    protocol_ = std::make_unique<RespProtocol>(link_, *limiter_, options_, 1);
  }

  std::string ask(const std::string& line) {
    protocol_->on_bytes(line + "\r\n");
    return link_.take();
  }
  // The value behind this name in an answer of version 2.
  static std::string field(const std::string& answer, const std::string& name) {
    const std::string head = "$" + std::to_string(name.size()) + "\r\n" + name + "\r\n";
    std::size_t at = answer.find(head);
    if (at == std::string::npos) return "none";
    at += head.size();
    const std::size_t end = answer.find("\r\n", at);
    if (answer[at] == ':') return answer.substr(at + 1, end - at - 1);
    if (answer.compare(at, 3, "$-1") == 0) return "null";
    return answer.substr(end + 2, answer.find("\r\n", end + 2) - end - 2);
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::unique_ptr<Limiter> limiter_;
  RespOptions options_;
  transport::RecordingLink link_;
  std::unique_ptr<RespProtocol> protocol_;
};

TEST_F(LeaseCommandTest, AcquiresRenewsAndReleases) {
  const std::string given = ask("WEIR.ACQUIRE COST 2 TTL 5000 ID job-7 tenant acme");
  EXPECT_THAT(given, StartsWith("*34\r\n"));
  EXPECT_EQ(field(given, "allowed"), "1");
  EXPECT_EQ(field(given, "remaining"), "0");
  EXPECT_EQ(field(given, "ttl_ms"), "5000");
  EXPECT_EQ(field(given, "created"), "1");
  EXPECT_GT(std::stoll(field(given, "fencing_token")), 0);
  const std::string again = ask("WEIR.ACQUIRE ID job-7 TTL 5000 COST 2 tenant acme");
  EXPECT_EQ(field(again, "created"), "0");
  EXPECT_EQ(field(again, "fencing_token"), field(given, "fencing_token"));

  const std::string denied = ask("WEIR.ACQUIRE tenant acme");
  EXPECT_EQ(field(denied, "allowed"), "0");
  EXPECT_EQ(field(denied, "reason"), "concurrency_exceeded");
  EXPECT_EQ(field(denied, "lease"), "null");
  EXPECT_EQ(field(denied, "fencing_token"), "null");

  const std::string handle = field(given, "lease");
  const std::string renewed = ask("WEIR.RENEW " + handle + " TTL 9000");
  EXPECT_EQ(field(renewed, "ttl_ms"), "9000");
  EXPECT_EQ(ask("WEIR.RELEASE " + field(renewed, "lease")), "+OK\r\n");
  EXPECT_EQ(ask("WEIR.RELEASE " + handle), "+OK\r\n") << "idempotent";
  EXPECT_THAT(ask("WEIR.RENEW " + handle), StartsWith("-GONE "));
  EXPECT_THAT(ask("WEIR.ACQUIRE ID job-7 tenant acme"), StartsWith("-GONE "));
  EXPECT_EQ(field(ask("WEIR.ACQUIRE tenant acme"), "allowed"), "1");
}

TEST_F(LeaseCommandTest, ALeaseThatWasGivenWithoutTheStoreHasNoFencingToken) {
  LeaseAnswer answer;
  answer.decision.degraded = true;
  answer.handle = "h";
  answer.created = true;
  answer.ttl = std::chrono::seconds(30);
  std::string out;
  ReplyWriter reply(out, RespVersion::two);
  LeaseCommand::write(reply, LeaseQuestion::Verb::acquire, answer);
  EXPECT_EQ(field(out, "lease"), "h");
  EXPECT_EQ(field(out, "fencing_token"), "null");
  EXPECT_EQ(field(out, "ttl_ms"), "30000");
  EXPECT_EQ(field(out, "created"), "1");
}

TEST_F(LeaseCommandTest, SaysWhatIsWrong) {
  EXPECT_THAT(ask("WEIR.ACQUIRE TTL 0 tenant acme"), HasSubstr("TTL: is '0', expected an integer from 10 to 86400000"));
  EXPECT_THAT(ask("WEIR.ACQUIRE TTL 31536000000 tenant acme"), StartsWith("-ERR TTL: "));
  EXPECT_THAT(ask("WEIR.ACQUIRE ID a ID b tenant acme"), StartsWith("-ERR ID: is given twice"));
  EXPECT_THAT(ask("WEIR.ACQUIRE COST 9223372036854775807 tenant acme"), StartsWith("-ERR COST: "));
  EXPECT_THAT(ask("WEIR.ACQUIRE ID " + std::string(10'000, 'x') + " tenant acme"),
              StartsWith("-ERR id: has 10000 bytes, expected at most 256"));
  EXPECT_THAT(ask("WEIR.ACQUIRE TTL 50 tenant"), StartsWith("-ERR the last attribute has no value"));
  EXPECT_THAT(ask("WEIR.RENEW x"), StartsWith("-NOTFOUND "));
  EXPECT_THAT(ask("WEIR.RELEASE x"), StartsWith("-NOTFOUND "));
  EXPECT_THAT(ask("WEIR.RENEW x TTL"), StartsWith("-ERR syntax error"));
  EXPECT_THAT(ask("WEIR.RELEASE x y"), StartsWith("-ERR wrong number of arguments"));
  EXPECT_EQ(field(ask("WEIR.ACQUIRE COST 3 tenant acme"), "allowed"), "0");
  EXPECT_EQ(field(ask("WEIR.CHECK PEEK tenant acme"), "remaining"), "2") << "nothing has changed";
}

}  // namespace
}  // namespace weir::resp
