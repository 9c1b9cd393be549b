#include "frontends/resp/resp_protocol.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/late_limiter.h"
#include "tests/support/recording_link.h"
#include "tests/support/request_identity.h"

namespace weir::resp {
namespace {

Rules one_rule() {
  Rule rule;
  rule.id = "per-tenant";
  rule.per = {"tenant"};
  rule.allowance.algorithm = Algorithm::token_bucket;
  rule.allowance.limit = 2;
  rule.allowance.window = std::chrono::seconds(10);
  Rules rules;
  rules.rules.push_back(rule);
  return rules;
}

class RespProtocolTest : public testing::Test {
 protected:
  explicit RespProtocolTest(const std::string& password = "") {
    LimiterOptions options;
    options.clock = clock_;
    Result<std::unique_ptr<Limiter>> made = Limiter::create(one_rule(), options);
    if (!made.ok()) throw std::runtime_error(made.failure().message);
    limiter_ = std::move(made).value();
    options_.password = password;
    options_.version = "9.9";
    protocol_ = std::make_unique<RespProtocol>(link_, *limiter_, options_, 77);
  }

  std::string ask(const std::string& line) {
    protocol_->on_bytes(line + "\r\n");
    return link_.take();
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::unique_ptr<Limiter> limiter_;
  RespOptions options_;
  transport::RecordingLink link_;
  std::unique_ptr<RespProtocol> protocol_;
};

class GuardedRespTest : public RespProtocolTest {
 protected:
  GuardedRespTest() : RespProtocolTest("s3cret") {}
};

TEST_F(RespProtocolTest, AnswersAPipelineInOneGo) {
  EXPECT_EQ(ask("PING\r\n*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n\r\n*0\r\nPING again"),
            "+PONG\r\n$2\r\nhi\r\n$5\r\nagain\r\n");
  EXPECT_TRUE(protocol_->idle());
}

TEST_F(RespProtocolTest, WaitsForTheRestOfACommand) {
  EXPECT_EQ(protocol_->on_bytes("PING\r\n*1\r\n$4\r\nPI"), 6U);
  EXPECT_FALSE(protocol_->idle());
  EXPECT_FALSE(protocol_->waiting());
  EXPECT_EQ(protocol_->on_bytes("*1\r\n$4\r\nPING\r\n"), 14U);
  EXPECT_TRUE(protocol_->idle());
  EXPECT_EQ(link_.take(), "+PONG\r\n+PONG\r\n");
}

TEST_F(RespProtocolTest, AsksAboutWhatIdentityMakesOfTheAttributes) {
  Rules rules = one_rule();
  rules.rules[0].per = {"ip", "made"};
  rules.rules[0].match = {};
  ASSERT_TRUE(limiter_->replace(rules).ok());
  protocol_ =
      std::make_unique<RespProtocol>(link_, *limiter_, options_, 77, std::make_shared<transport::ToyRequestIdentity>());
  const auto allowed = [](const std::string& answer) { return answer.starts_with("*24\r\n$7\r\nallowed\r\n:1"); };
  EXPECT_TRUE(allowed(ask("WEIR.CHECK ip a")));
  EXPECT_TRUE(allowed(ask("WEIR.CHECK ip net(a)"))) << "another subject";
  EXPECT_TRUE(allowed(ask("WEIR.CHECK ip a")));
  EXPECT_FALSE(allowed(ask("WEIR.CHECK ip a"))) << "the rule sees what was made";
  EXPECT_EQ(ask("WEIR.CHECK key revoked"), "-NOPERM the credentials were not accepted\r\n");
  EXPECT_EQ(ask("WEIR.REFUND key revoked"), "-NOPERM the credentials were not accepted\r\n");
  EXPECT_EQ(ask("WEIR.CHECK ip nowhere"), "-ERR ip: is not an IP address\r\n");
  EXPECT_EQ(ask("MULTI\r\nWEIR.CHECK key revoked\r\nEXEC"),
            "+OK\r\n+QUEUED\r\n*1\r\n-NOPERM the credentials were not accepted\r\n");
}

TEST_F(RespProtocolTest, EndsAConnectionThatBreaksTheProtocol) {
  EXPECT_EQ(ask("PING\r\n*2147483647\r\nPING"), "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n");
  EXPECT_TRUE(link_.closed());
}

TEST_F(RespProtocolTest, EndsAConnectionThatSpeaksHttp) {
  EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: x\r\n\r\nCL.THROTTLE k 1 1 1"), "");
  EXPECT_TRUE(link_.closed());
}

TEST_F(RespProtocolTest, StopsWhileThePeerDoesNotTakeItsAnswers) {
  link_.output_limit = 10;
  const std::string four = "PING\r\nPING\r\nPING\r\nPING\r\n";
  EXPECT_EQ(protocol_->on_bytes(four), 12U);
  EXPECT_EQ(link_.take(), "+PONG\r\n+PONG\r\n");
  EXPECT_EQ(protocol_->on_bytes(four.substr(12)), 12U);
}

TEST_F(RespProtocolTest, ChecksByTheRules) {
  const std::string allowed = ask("WEIR.CHECK tenant acme");
  const std::string subject = allowed.substr(allowed.size() - 14, 12);
  EXPECT_EQ(subject.find_first_not_of("0123456789abcdef"), std::string::npos) << subject;
  EXPECT_EQ(
      allowed,
      "*24\r\n$7\r\nallowed\r\n:1\r\n$6\r\nreason\r\n$2\r\nok\r\n$4\r\nrule\r\n$10\r\nper-tenant\r\n"
      "$5\r\nlimit\r\n:2\r\n$9\r\nremaining\r\n:1\r\n$14\r\nretry_after_ms\r\n:0\r\n$14\r\nreset_after_ms\r\n:5000\r\n"
      "$8\r\ndelay_ms\r\n:0\r\n$8\r\ndegraded\r\n:0\r\n$11\r\nretry_at_ms\r\n$-1\r\n"
      "$11\r\nreset_at_ms\r\n:1800000005000\r\n$7\r\nsubject\r\n$12\r\n" +
          subject + "\r\n");
  ask("weir.check COST 1 tenant acme");
  const std::string denied = ask("WEIR.CHECK tenant acme");
  EXPECT_NE(denied.find("allowed\r\n:0\r\n"), std::string::npos) << denied;
  EXPECT_NE(denied.find("$14\r\nlimit_exceeded\r\n"), std::string::npos) << denied;
  EXPECT_NE(denied.find("retry_after_ms\r\n:5000\r\n"), std::string::npos) << denied;
  EXPECT_NE(denied.find("retry_at_ms\r\n:1800000005000\r\n"), std::string::npos) << denied;
}

TEST_F(RespProtocolTest, AddsTheMessageOfTheRuleThatDenied) {
  Rules rules = one_rule();
  rules.rules[0].message = "Wait {wait}.";
  ASSERT_TRUE(limiter_->replace(rules).ok());
  EXPECT_TRUE(ask("WEIR.CHECK COST 2 tenant acme").starts_with("*24\r\n"));
  const std::string denied = ask("WEIR.CHECK tenant acme");
  EXPECT_TRUE(denied.starts_with("*26\r\n")) << denied;
  EXPECT_TRUE(denied.ends_with("$7\r\nmessage\r\n$9\r\nWait 5 s.\r\n")) << denied;
}

TEST_F(RespProtocolTest, AnswersChecksAsAMapInVersionThree) {
  ask("HELLO 3");
  const std::string none = ask("WEIR.CHECK color red");
  EXPECT_TRUE(none.starts_with("%12\r\n$7\r\nallowed\r\n:1\r\n$6\r\nreason\r\n$7\r\nno_rule\r\n$4\r\nrule\r\n_\r\n"))
      << none;
}

TEST_F(RespProtocolTest, PeeksAndRefunds) {
  const auto remaining = [&](const std::string& line) {
    const std::string reply = ask(line);
    const std::size_t at = reply.find("remaining\r\n:");
    return at == std::string::npos ? reply : reply.substr(at + 12, 1);
  };
  EXPECT_EQ(remaining("WEIR.CHECK PEEK COST 1 tenant acme"), "2");
  EXPECT_EQ(remaining("WEIR.CHECK cost 2 tenant acme"), "0");
  EXPECT_EQ(remaining("WEIR.REFUND COST 1 tenant acme"), "1");
  EXPECT_EQ(remaining("WEIR.REFUND COST 5 tenant acme"), "2");
}

TEST_F(RespProtocolTest, NamesWhatIsWrongWithACheck) {
  EXPECT_EQ(ask("WEIR.CHECK tenant"), "-ERR wrong number of arguments for 'weir.check' command\r\n");
  EXPECT_EQ(ask("WEIR.CHECK tenant acme user"), "-ERR the last attribute has no value; expected attribute value …\r\n");
  EXPECT_EQ(ask("WEIR.CHECK COST 1 PEEK"), "-ERR no attribute is given; expected attribute value …\r\n");
  EXPECT_EQ(ask("WEIR.CHECK COST -1 tenant acme"),
            "-ERR COST: is '-1', expected an integer from 0 to 1000000000000\r\n");
  const std::string twice = ": is given twice; an attribute of this name cannot be the first one\r\n";
  EXPECT_EQ(ask("WEIR.CHECK COST 2 COST 2 tenant acme"), "-ERR COST" + twice);
  EXPECT_EQ(ask("WEIR.CHECK COST 2 PEEK cost 2 tenant acme"), "-ERR COST" + twice);
  EXPECT_EQ(ask("WEIR.CHECK PEEK COST 2 peek tenant acme"), "-ERR PEEK" + twice);
  EXPECT_EQ(ask("WEIR.REFUND COST 1 COST 1 tenant acme"), "-ERR COST" + twice);
  EXPECT_EQ(ask("WEIR.REPORT FAILURE DURATION 1 duration 2 tenant acme"), "-ERR DURATION" + twice);
  EXPECT_EQ(ask("WEIR.CHECK '' acme"), "-ERR the name of attribute 1 is empty\r\n");
  EXPECT_EQ(ask("WEIR.CHECK tenant " + std::string(4097, 'a')),
            "-ERR the value of 'tenant' is longer than 4096 bytes\r\n");
  EXPECT_EQ(ask("WEIR.CHECK " + std::string(129, 'a') + " x"),
            "-ERR the name of attribute 1 is longer than 128 bytes\r\n");
  std::string many = "WEIR.CHECK";
  for (int i = 0; i < 65; ++i) many += " a b";
  EXPECT_EQ(ask(many), "-ERR more than 64 attributes\r\n");
}

TEST_F(RespProtocolTest, GreetsInTheVersionAskedFor) {
  EXPECT_TRUE(
      ask("HELLO").starts_with("*14\r\n$6\r\nserver\r\n$4\r\nweir\r\n$7\r\nversion\r\n$3\r\n9.9\r\n$5\r\nproto\r\n:2"));
  EXPECT_TRUE(ask("HELLO 3 AUTH default any SETNAME me").starts_with("%7\r\n"));
  EXPECT_EQ(ask("CLIENT GETNAME"), "$2\r\nme\r\n");
  EXPECT_EQ(ask("HELLO 4"), "-NOPROTO unsupported protocol version\r\n");
  EXPECT_TRUE(ask("HELLO 3 SETNAME").starts_with("-ERR syntax error in HELLO"));
  EXPECT_EQ(ask("RESET"), "+RESET\r\n");
  EXPECT_EQ(ask("CLIENT GETNAME"), "$-1\r\n");
}

TEST_F(RespProtocolTest, AnswersWhatClientsAskOnConnecting) {
  EXPECT_EQ(ask("CLIENT ID"), ":77\r\n");
  EXPECT_EQ(ask("CLIENT SETNAME svc"), "+OK\r\n");
  EXPECT_EQ(ask("CLIENT SETINFO LIB-NAME redis-py"), "+OK\r\n");
  EXPECT_EQ(ask("CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type none"), "+OK\r\n");
  EXPECT_EQ(ask("CLIENT NO-EVICT on"), "+OK\r\n");
  EXPECT_TRUE(ask("CLIENT REPLY OFF").starts_with("-ERR "));
  EXPECT_TRUE(ask("CLIENT SETNAME \"a b\"").starts_with("-ERR "));
  EXPECT_NE(ask("CLIENT INFO").find("id=77 addr=192.0.2.7:4711 name=svc db=0 resp=2 "), std::string::npos);
  EXPECT_EQ(ask("SELECT 0"), "+OK\r\n");
  EXPECT_TRUE(ask("SELECT 1").starts_with("-ERR "));
  EXPECT_NE(ask("INFO server").find("\r\nloading:0\r\n"), std::string::npos);
  EXPECT_EQ(ask("CONFIG GET save"), "*2\r\n$4\r\nsave\r\n$0\r\n\r\n");
  EXPECT_EQ(ask("CONFIG GET maxmemory"), "*0\r\n");
  EXPECT_EQ(ask("COMMAND COUNT"), ":" + std::to_string(commands().size()) + "\r\n");
  EXPECT_TRUE(ask("COMMAND INFO ping nosuch").starts_with("*2\r\n*10\r\n$4\r\nping\r\n:-1\r\n"));
  EXPECT_TRUE(ask("COMMAND DOCS cl.throttle").starts_with("*2\r\n$11\r\ncl.throttle\r\n*8\r\n$7\r\nsummary\r\n"));
}

TEST_F(RespProtocolTest, QuotesAnUnknownCommand) {
  EXPECT_EQ(ask("GET a\r\n"), "-ERR unknown command 'GET', with args beginning with: 'a' \r\n");
  EXPECT_EQ(ask("*2\r\n$3\r\nG\r\n\r\n$1\r\na"), "-ERR unknown command 'G  ', with args beginning with: 'a' \r\n");
  EXPECT_LT(ask(std::string(10'000, 'x') + " " + std::string(10'000, 'y')).size(), 600U);
}

TEST_F(RespProtocolTest, LeavesOnQuitAndIgnoresWhatFollows) {
  EXPECT_EQ(ask("QUIT\r\nPING"), "+OK\r\n");
  EXPECT_TRUE(link_.closed());
}

TEST_F(RespProtocolTest, ClosesAtOnceWhenDrainedIdle) {
  protocol_->on_drain();
  EXPECT_TRUE(link_.closed());
}

TEST_F(RespProtocolTest, GoesOnServingUntilTheDrainIsDue) {
  EXPECT_TRUE(protocol_->on_drain_soon());
  EXPECT_EQ(ask("PING"), "+PONG\r\n");
  EXPECT_FALSE(link_.closed());
  protocol_->on_drain();
  EXPECT_TRUE(link_.closed());
}

TEST_F(GuardedRespTest, LetsAStrangerSayLittle) {
  EXPECT_EQ(ask("PING"), "-NOAUTH Authentication required.\r\n");
  EXPECT_EQ(ask("CL.THROTTLE k 1 1 1"), "-NOAUTH Authentication required.\r\n");
  EXPECT_EQ(ask("NOSUCH"), "-NOAUTH Authentication required.\r\n");
  EXPECT_TRUE(ask("HELLO 3").starts_with("-NOAUTH "));
  EXPECT_EQ(ask("AUTH s3cret"), "+OK\r\n");
  EXPECT_EQ(ask("PING"), "+PONG\r\n");
  EXPECT_EQ(ask("RESET\r\nPING"), "+RESET\r\n-NOAUTH Authentication required.\r\n");
}

TEST_F(GuardedRespTest, TakesTheBoundsOfAClientOnceItIsOne) {
  const std::string big = "*2\r\n$4\r\nECHO\r\n$2000\r\n" + std::string(2000, 'x');
  EXPECT_EQ(ask("AUTH default s3cret\r\n" + big).size(), 5 + 7 + 2002U);
  EXPECT_EQ(ask("RESET\r\n" + big), "+RESET\r\n-ERR Protocol error: invalid bulk length\r\n");
  EXPECT_TRUE(link_.closed());
}

TEST_F(GuardedRespTest, RefusesWrongPasswordsAndThenTheConnection) {
  const std::string wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
  EXPECT_EQ(ask("AUTH s3cre"), wrong);
  EXPECT_EQ(ask("AUTH s3crets3cret"), wrong);
  EXPECT_EQ(ask("AUTH root s3cret"), wrong);
  EXPECT_FALSE(link_.closed());
  EXPECT_EQ(ask("HELLO 3 AUTH default ''"), wrong);
  EXPECT_TRUE(link_.closed());
}

TEST_F(GuardedRespTest, DoesNotLetInAHelloThatFails) {
  EXPECT_TRUE(ask("HELLO 3 AUTH default s3cret SETNAME").starts_with("-ERR syntax"));
  EXPECT_EQ(ask("PING"), "-NOAUTH Authentication required.\r\n");
  EXPECT_TRUE(ask("HELLO 3 AUTH default s3cret").starts_with("%7\r\n"));
}

class LateRespTest : public testing::Test {
 protected:
  static ChargeOutcome outcome(std::int64_t remaining) {
    ChargeOutcome outcome;
    outcome.remaining = remaining;
    return outcome;
  }
  static std::string answer(std::int64_t remaining) {
    return "*5\r\n:0\r\n:2\r\n:" + std::to_string(remaining) + "\r\n:-1\r\n:0\r\n";
  }

  LateLimiter limiter_;
  RespOptions options_;
  transport::RecordingLink link_;
  RespProtocol protocol_{link_, limiter_, options_, 1};
};

TEST_F(LateRespTest, KeepsTheOrderWhicheverAnswerComesFirst) {
  protocol_.on_bytes("PING\r\nCL.THROTTLE a 1 1 1\r\nECHO x\r\nCL.THROTTLE b 1 1 1\r\n");
  EXPECT_EQ(link_.take(), "+PONG\r\n");
  EXPECT_TRUE(protocol_.waiting());
  limiter_.answer(1, outcome(7));
  EXPECT_EQ(link_.take(), "");
  limiter_.answer(0, outcome(5));
  EXPECT_EQ(link_.take(), answer(5) + "$1\r\nx\r\n" + answer(7));
  EXPECT_FALSE(protocol_.waiting());
  EXPECT_GT(link_.flushes, 0);
}

TEST_F(LateRespTest, AnswersInTheVersionOfItsTime) {
  protocol_.on_bytes("WEIR.CHECK a b\r\nHELLO 3\r\nWEIR.CHECK a b\r\n");
  limiter_.answer(0, Decision{});
  EXPECT_TRUE(link_.take().starts_with("*24\r\n"));
  limiter_.answer(1, Decision{});
  EXPECT_TRUE(link_.take().starts_with("%12\r\n"));
}

TEST_F(LateRespTest, ComesBackToItsLoopFromAnotherThread) {
  protocol_.on_bytes("CL.THROTTLE a 1 1 1\r\n");
  link_.here = false;
  limiter_.answer(0, outcome(1));
  EXPECT_EQ(link_.take(), "");
  EXPECT_EQ(link_.posted.size(), 1U);
  link_.run_posted();
  EXPECT_EQ(link_.take(), answer(1));
  EXPECT_EQ(link_.holders.use_count(), 1) << "a completion that ran must let the connection go";
}

TEST_F(LateRespTest, PausesWithTooManyUnderWayAndResumes) {
  std::string many;
  for (std::size_t i = 0; i < ReplyQueue::kMaxOwed + 10; ++i) many += "CL.THROTTLE a 1 1 1\r\n";
  const std::size_t line = std::string_view("CL.THROTTLE a 1 1 1\r\n").size();
  EXPECT_EQ(protocol_.on_bytes(many), ReplyQueue::kMaxOwed * line);
  EXPECT_EQ(limiter_.charges.size(), ReplyQueue::kMaxOwed);
  EXPECT_TRUE(link_.paused);
  for (std::size_t i = 0; i < ReplyQueue::kMaxOwed / 2; ++i) limiter_.answer(i, outcome(0));
  EXPECT_FALSE(link_.paused);
  EXPECT_EQ(protocol_.on_bytes(std::string_view(many).substr(ReplyQueue::kMaxOwed * line)), 10 * line);
}

TEST_F(LateRespTest, BoundsTheBytesOfAnswersThatWait) {
  protocol_.on_bytes("CL.THROTTLE a 1 1 1\r\n");
  const std::string echo = "*2\r\n$4\r\nECHO\r\n$40000\r\n" + std::string(40'000, 'x') + "\r\n";
  EXPECT_EQ(protocol_.on_bytes(echo + echo + echo), 2 * echo.size());
  EXPECT_TRUE(link_.paused);
  limiter_.answer(0, outcome(0));
  EXPECT_FALSE(link_.paused);
}

TEST_F(LateRespTest, FinishesWhatItOwesBeforeItLeaves) {
  protocol_.on_bytes("CL.THROTTLE a 1 1 1\r\nQUIT\r\n");
  EXPECT_FALSE(link_.closed());
  limiter_.answer(0, outcome(3));
  EXPECT_EQ(link_.take(), answer(3) + "+OK\r\n");
  EXPECT_TRUE(link_.closed());
}

TEST_F(LateRespTest, AnswersWhatIsBegunWhenDrained) {
  protocol_.on_bytes("CL.THROTTLE a 1 1 1\r\n");
  protocol_.on_drain();
  EXPECT_FALSE(link_.closed());
  EXPECT_EQ(protocol_.on_bytes("CL.THROTTLE a 1 1 1\r\n"), 21U);
  EXPECT_EQ(limiter_.charges.size(), 1U);
  limiter_.answer(0, outcome(3));
  EXPECT_EQ(link_.take(), answer(3));
  EXPECT_TRUE(link_.closed());
}

TEST_F(LateRespTest, ForgetsAnswersForAPeerThatHasGone) {
  protocol_.on_bytes("CL.THROTTLE a 1 1 1\r\n");
  link_.close();
  limiter_.answer(0, outcome(3));
  EXPECT_EQ(link_.take(), "");
}

TEST_F(LateRespTest, PassesCostAndPeekOn) {
  protocol_.on_bytes("WEIR.CHECK PEEK COST 7 a b\r\n");
  EXPECT_EQ(limiter_.last_cost, 7);
  EXPECT_TRUE(limiter_.last_peek);
}

}  // namespace
}  // namespace weir::resp
