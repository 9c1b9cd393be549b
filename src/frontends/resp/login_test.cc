// Logins that fail: what the guard hears of them, and how later ones wait for their turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "frontends/resp/resp_protocol.h"
#include "tests/support/late_limiter.h"
#include "tests/support/recording_link.h"

namespace weir::resp {
namespace {

constexpr std::string_view kWrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

class LoginTest : public testing::Test {
 protected:
  LoginTest() {
    options_.password = "s3cret";
    options_.logins = guard_;
  }
  // Failures enough to make the next attempts wait, on connections of their own.
  void fail(int times) {
    for (int i = 0; i < times; ++i) {
      guard_->failed({.listener = "resp", .kind = transport::LoginKind::password, .address = "192.0.2.7"});
    }
  }
  std::string ask(const std::string& lines) {
    unread_ += lines + "\r\n";
    return offer();
  }
  std::string offer() {
    unread_.erase(0, protocol_.on_bytes(unread_));
    return link_.take();
  }
  std::string run_timers() {
    for (const auto& task : std::exchange(link_.timers, {})) task();
    return offer();
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::vector<std::string> reported_;
  std::shared_ptr<transport::LoginGuard> guard_ =
      std::make_shared<transport::LoginGuard>(clock_, [this](const transport::FailedLogin& login) {
        reported_.push_back(std::string(login.listener) + " " + std::string(login_kind_name(login.kind)) + " " +
                            std::string(login.address));
      });
  LateLimiter limiter_;
  RespOptions options_;
  transport::RecordingLink link_;
  RespProtocol protocol_{link_, limiter_, options_, 1};
  std::string unread_;
};

TEST_F(LoginTest, EveryFailureIsReportedWithoutWhatWasShown) {
  EXPECT_EQ(ask("AUTH guess\r\nAUTH default guess\r\nHELLO 3 AUTH default guess"),
            std::string(kWrong) + std::string(kWrong) + std::string(kWrong));
  EXPECT_THAT(reported_, testing::Each("resp password 192.0.2.7"));
  EXPECT_EQ(reported_.size(), 3U);
  EXPECT_EQ(ask("AUTH s3cret"), "+OK\r\n");
  EXPECT_EQ(guard_->sources(), 0U) << "a success forgets";
}

TEST_F(LoginTest, AnAttemptAfterManyFailuresWaitsForItsTurn) {
  fail(5);
  for (const char* login : {"AUTH s3cret", "HELLO 3 AUTH default s3cret"}) {
    SCOPED_TRACE(login);
    fail(5);
    link_.paused = false;
    EXPECT_EQ(ask("RESET\r\n" + std::string(login) + "\r\nPING"), "+RESET\r\n");
    EXPECT_TRUE(link_.paused) << "nothing more is read";
    EXPECT_TRUE(protocol_.waiting()) << "and no timeout runs";
    EXPECT_EQ(offer(), "");
    EXPECT_EQ(link_.timers.size(), 1U) << "it asks for one turn only";
    const std::string answer = run_timers();
    EXPECT_FALSE(link_.paused);
    EXPECT_TRUE(answer.starts_with("+OK\r\n") || answer.starts_with("%7\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("+PONG\r\n")) << answer;
    EXPECT_FALSE(protocol_.waiting());
  }
}

TEST_F(LoginTest, AWrongAttemptWaitsTooAndMakesTheNextWaitLonger) {
  fail(5);
  EXPECT_EQ(ask("AUTH guess"), "");
  EXPECT_EQ(reported_.size(), 5U) << "it is not looked at before its turn";
  EXPECT_EQ(run_timers(), kWrong);
  EXPECT_EQ(reported_.size(), 6U);
}

TEST_F(LoginTest, TooManyWaitingAttemptsAreNotLookedAt) {
  fail(20);
  while (!guard_->ask("resp", transport::LoginKind::password, "192.0.2.7").refused) {
  }
  EXPECT_EQ(ask("AUTH s3cret\r\nPING"), "-ERR too many failed logins from this address; try again later\r\n");
  EXPECT_TRUE(link_.closed());
}

TEST_F(LoginTest, ALoginInATransactionWaitsToo) {
  ask("AUTH s3cret");
  fail(5);
  EXPECT_EQ(ask("MULTI\r\nPING\r\nAUTH s3cret\r\nPING\r\nEXEC"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+PONG\r\n");
  EXPECT_EQ(run_timers(), "+OK\r\n+PONG\r\n");
  EXPECT_EQ(unread_, "");
}

TEST_F(LoginTest, OtherCommandsAndOtherAddressesDoNotWait) {
  guard_->failed({.listener = "resp", .kind = transport::LoginKind::password, .address = "192.0.2.8"});
  EXPECT_EQ(ask("AUTH s3cret\r\nPING"), "+OK\r\n+PONG\r\n");
  fail(20);
  EXPECT_TRUE(ask("PING\r\nHELLO 2\r\nPING").ends_with("*0\r\n+PONG\r\n")) << "a HELLO without AUTH shows no password";
  EXPECT_TRUE(link_.timers.empty());
}

}  // namespace
}  // namespace weir::resp
