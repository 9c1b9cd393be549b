// MULTI, EXEC and DISCARD: on a connection without a socket, and the queue by itself.
#include "frontends/resp/transaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "frontends/resp/resp_protocol.h"
#include "tests/support/late_limiter.h"
#include "tests/support/recording_link.h"

namespace weir::resp {
namespace {

using testing::ElementsAre;

constexpr std::string_view kNested = "-ERR MULTI calls can not be nested\r\n";
constexpr std::string_view kAbort = "-EXECABORT Transaction discarded because of previous errors.\r\n";

class TransactionTest : public testing::Test {
 protected:
  TransactionTest() {
    LimiterOptions options;
    options.clock = std::make_shared<ManualClock>();
    limiter_ = std::move(Limiter::create({}, options)).value();
    protocol_ = std::make_unique<RespProtocol>(link_, *limiter_, options_, 1);
  }
  std::string ask(const std::string& lines) {
    const std::string bytes = lines + "\r\n";
    EXPECT_EQ(protocol_->on_bytes(bytes), bytes.size());
    return link_.take();
  }
  // Gives what is left until everything is consumed, as a connection does whose peer reads.
  std::string ask_slowly(std::string bytes) {
    std::string seen;
    for (int i = 0; i < 100'000 && !bytes.empty(); ++i) {
      bytes.erase(0, protocol_->on_bytes(bytes));
      EXPECT_LE(link_.sent.size(), link_.output_limit + 100);
      seen += link_.take();
    }
    EXPECT_TRUE(bytes.empty());
    return seen;
  }

  std::unique_ptr<Limiter> limiter_;
  RespOptions options_;
  transport::RecordingLink link_;
  std::unique_ptr<RespProtocol> protocol_;
};

TEST_F(TransactionTest, AnswersTheQueuedCommandsInOneArray) {
  EXPECT_EQ(ask("MULTI"), "+OK\r\n");
  EXPECT_EQ(ask("CL.THROTTLE k 1 1 1000\r\nCL.THROTTLE k 1 1 1000"), "+QUEUED\r\n+QUEUED\r\n");
  EXPECT_EQ(ask("CL.THROTTLE k 1 1 1000\r\nECHO hi"), "+QUEUED\r\n+QUEUED\r\n");
  EXPECT_EQ(ask("EXEC"),
            "*4\r\n*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:1000\r\n*5\r\n:0\r\n:2\r\n:0\r\n:-1\r\n:2000\r\n"
            "*5\r\n:1\r\n:2\r\n:0\r\n:1000\r\n:2000\r\n$2\r\nhi\r\n");
  EXPECT_TRUE(protocol_->idle());
  EXPECT_EQ(ask("EXEC"), "-ERR EXEC without MULTI\r\n");
}

TEST_F(TransactionTest, TakesNothingBeforeExec) {
  ask("MULTI\r\nCL.THROTTLE k 1 1 1000");
  EXPECT_EQ(ask("DISCARD"), "+OK\r\n");
  EXPECT_EQ(ask("CL.THROTTLE k 1 1 1000"), "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:1000\r\n");
}

TEST_F(TransactionTest, RefusesWhatRedisRefuses) {
  EXPECT_EQ(ask("EXEC"), "-ERR EXEC without MULTI\r\n");
  EXPECT_EQ(ask("DISCARD"), "-ERR DISCARD without MULTI\r\n");
  EXPECT_EQ(ask("MULTI x"), "-ERR wrong number of arguments for 'multi' command\r\n");
  EXPECT_EQ(ask("MULTI\r\nMULTI\r\nPING\r\nEXEC"), "+OK\r\n" + std::string(kNested) + "+QUEUED\r\n*1\r\n+PONG\r\n");
  EXPECT_EQ(ask("MULTI\r\nEXEC"), "+OK\r\n*0\r\n");
  EXPECT_EQ(ask("MULTI\r\nNOSUCH\r\nPING\r\nEXEC\r\nEXEC"),
            "+OK\r\n-ERR unknown command 'NOSUCH', with args beginning with: \r\n+QUEUED\r\n" + std::string(kAbort) +
                "-ERR EXEC without MULTI\r\n");
  EXPECT_EQ(ask("MULTI\r\nECHO\r\nEXEC"),
            "+OK\r\n-ERR wrong number of arguments for 'echo' command\r\n" + std::string(kAbort));
  EXPECT_EQ(ask("MULTI\r\nCL.THROTTLE k\r\nEXEC"),
            "+OK\r\n-ERR wrong number of arguments for 'cl.throttle' command\r\n" + std::string(kAbort));
  EXPECT_EQ(ask("MULTI\r\nPING\r\nEXEC now\r\nEXEC"),
            "+OK\r\n+QUEUED\r\n-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' "
            "command\r\n-ERR EXEC without MULTI\r\n");
  EXPECT_TRUE(ask("MULTI\r\nNOSUCH\r\nDISCARD\r\nMULTI\r\nEXEC").ends_with("\r\n+OK\r\n+OK\r\n*0\r\n"));
}

TEST_F(TransactionTest, AFaultThatShowsOnlyWhenACommandRunsIsItsOwnAnswer) {
  EXPECT_EQ(ask("MULTI\r\nCL.THROTTLE k x 1 1\r\nPING\r\nEXEC").substr(23),
            "*2\r\n-ERR max_burst: is 'x', expected an integer from 0 to 999999999999\r\n+PONG\r\n");
}

TEST_F(TransactionTest, ResetAndQuitDoNotWait) {
  EXPECT_EQ(ask("MULTI\r\nPING\r\nRESET\r\nPING\r\nEXEC"),
            "+OK\r\n+QUEUED\r\n+RESET\r\n+PONG\r\n-ERR EXEC without MULTI\r\n");
  EXPECT_EQ(ask("MULTI\r\nPING\r\nQUIT\r\nEXEC"), "+OK\r\n+QUEUED\r\n+OK\r\n");
  EXPECT_TRUE(link_.closed());
}

TEST_F(TransactionTest, TheVersionMayChangeInTheMiddle) {
  const std::string answer = ask("MULTI\r\nCLIENT GETNAME\r\nHELLO 3\r\nCLIENT GETNAME\r\nEXEC").substr(32);
  EXPECT_TRUE(answer.starts_with("*3\r\n$-1\r\n%7\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n_\r\n")) << answer;
}

// However much is queued: no more is answered at once than the peer takes.
TEST_F(TransactionTest, StopsWhileThePeerDoesNotTakeItsAnswers) {
  link_.output_limit = 1000;
  std::string commands;
  std::string queued;
  std::string answers;
  for (int i = 0; i < 5000; ++i) {
    commands += "ECHO " + std::to_string(i) + "\r\n";
    queued += "+QUEUED\r\n";
    answers += "$" + std::to_string(std::to_string(i).size()) + "\r\n" + std::to_string(i) + "\r\n";
  }
  EXPECT_EQ(ask_slowly("MULTI\r\n" + commands + "EXEC\r\nPING\r\n"),
            "+OK\r\n" + queued + "*5000\r\n" + answers + "+PONG\r\n");
}

TEST_F(TransactionTest, HasABoundInBytes) {
  const std::string kilobyte = "ECHO " + std::string(1000, 'x') + "\r\n";
  std::string most = "MULTI\r\n";
  for (int i = 0; i < 1032; ++i) most += kilobyte;  // 1,016 bytes each, with what tells the words apart
  EXPECT_EQ(ask_slowly(most).size(), 5 + 1032 * 9U);
  EXPECT_EQ(ask(kilobyte.substr(0, 1005)), "-ERR the transaction is larger than 1 MiB; it is discarded\r\n");
  EXPECT_EQ(ask("PING\r\nEXEC\r\nPING"), "+QUEUED\r\n" + std::string(kAbort) + "+PONG\r\n");
}

TEST_F(TransactionTest, WhatIsQueuedIsReservedAndGivenBack) {
  const std::string kilobyte = "ECHO " + std::string(1000, 'x') + "\r\n";
  std::string commands;
  for (int i = 0; i < 100; ++i) commands += kilobyte;
  ask("MULTI\r\nPING");
  EXPECT_EQ(link_.reserved, 0U) << "a little needs no asking";
  ask_slowly(commands);
  EXPECT_GE(link_.reserved, 100'000U);
  ask_slowly("EXEC\r\n");
  EXPECT_EQ(link_.reserved, 0U);
  ask_slowly("MULTI\r\n" + commands);
  EXPECT_GE(link_.reserved, 100'000U);
  ask("DISCARD");
  EXPECT_EQ(link_.reserved, 0U);
  // There is not enough for all of it.
  link_.memory = 50'000;
  const std::string answers = ask_slowly("MULTI\r\n" + commands + "EXEC\r\nPING\r\n");
  EXPECT_NE(answers.find("-OOM the server is short of memory; try again later\r\n"), std::string::npos);
  EXPECT_TRUE(answers.ends_with(std::string(kAbort) + "+PONG\r\n"));
  EXPECT_EQ(link_.reserved, 0U);
}

TEST_F(TransactionTest, AnArrayThatHasBegunIsFinishedWhenDrained) {
  link_.output_limit = 20;
  std::string rest = "MULTI\r\nPING\r\nPING\r\nPING\r\nPING\r\nEXEC\r\nPING\r\n";
  std::string seen;
  while (seen.find("*4") == std::string::npos) {
    rest.erase(0, protocol_->on_bytes(rest));
    seen += link_.take();
  }
  EXPECT_TRUE(rest.starts_with("EXEC")) << "it is consumed after its last answer";
  protocol_->on_drain();
  EXPECT_FALSE(link_.closed());
  while (!link_.closed() && !rest.empty()) {
    rest.erase(0, protocol_->on_bytes(rest));
    seen += link_.take();
  }
  EXPECT_TRUE(link_.closed());
  EXPECT_TRUE(seen.ends_with("*4\r\n+PONG\r\n+PONG\r\n+PONG\r\n+PONG\r\n")) << seen;
}

TEST(LateTransaction, KeepsTheOrderAndTheBoundsOnWhatIsUnderWay) {
  LateLimiter limiter;
  RespOptions options;
  transport::RecordingLink link;
  RespProtocol protocol(link, limiter, options, 1);
  std::string bytes = "MULTI\r\n";
  constexpr std::size_t kCommands = ReplyQueue::kMaxOwed + 500;
  for (std::size_t i = 0; i < kCommands; ++i) bytes += "CL.THROTTLE a 1 1 1\r\n";
  bytes += "EXEC\r\n";
  bytes.erase(0, protocol.on_bytes(bytes));
  EXPECT_EQ(bytes, "EXEC\r\n");
  EXPECT_EQ(limiter.charges.size(), ReplyQueue::kMaxOwed);
  EXPECT_TRUE(link.paused);
  EXPECT_TRUE(protocol.waiting());
  link.take();
  std::string expected;
  for (std::size_t i = 0; i < kCommands; ++i) {
    if (i == ReplyQueue::kMaxOwed / 2) {
      EXPECT_FALSE(link.paused);
      bytes.erase(0, protocol.on_bytes(bytes));
    }
    ChargeOutcome outcome;
    outcome.remaining = static_cast<std::int64_t>(i);
    limiter.answer(i, outcome);
    expected += "*5\r\n:0\r\n:2\r\n:" + std::to_string(i) + "\r\n:-1\r\n:0\r\n";
  }
  EXPECT_EQ(bytes, "");
  EXPECT_EQ(link.take(), expected);
  EXPECT_TRUE(protocol.idle());
}

TEST(Transaction, GivesItsMemoryBack) {
  Transaction transaction;
  transaction.begin();
  const std::string long_word(100'000, 'x');
  const std::string_view words[] = {"ECHO", long_word};
  ASSERT_TRUE(transaction.add(words));
  ASSERT_TRUE(transaction.add(words));
  EXPECT_GT(transaction.held_bytes(), 200'000U);
  transaction.execute();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(transaction.executing());
    EXPECT_THAT(transaction.next(), ElementsAre("ECHO", long_word));
    transaction.finish_one();
  }
  EXPECT_FALSE(transaction.executing());
  EXPECT_LT(transaction.held_bytes(), 100U);
}

}  // namespace
}  // namespace weir::resp
