#include "frontends/transport/login_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace weir::transport {
namespace {

using namespace std::chrono_literals;

constexpr LoginKind kPassword = LoginKind::password;

class LoginGuardTest : public testing::Test {
 protected:
  void fail(std::string_view address, LoginKind kind = kPassword) {
    guard_.failed({.listener = "resp", .kind = kind, .address = address});
  }
  Duration wait_of(std::string_view address, LoginKind kind = kPassword) {
    const LoginGuard::Turn turn = guard_.ask("resp", kind, address);
    EXPECT_FALSE(turn.refused);
    return turn.wait;
  }
  std::uint64_t count(std::string_view kind) {
    for (const LoginGuard::Count& each : guard_.counts()) {
      if (each.kind == kind) return each.count;
    }
    return 0;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::vector<std::pair<int, Duration>> reported_;
  LoginGuard guard_{clock_, [this](const FailedLogin& login) { reported_.emplace_back(login.failures, login.delay); }};
};

TEST_F(LoginGuardTest, TheDelayGrowsWithEachFailureToItsBound) {
  for (int i = 0; i < 10; ++i) {
    clock_->advance(wait_of("192.0.2.7"));
    fail("192.0.2.7");
  }
  EXPECT_THAT(reported_,
              testing::ElementsAre(std::pair(1, 0us), std::pair(2, 0us), std::pair(3, 0us), std::pair(4, 100ms),
                                   std::pair(5, 200ms), std::pair(6, 400ms), std::pair(7, 800ms), std::pair(8, 1600ms),
                                   std::pair(9, 2s), std::pair(10, 2s)));
  EXPECT_EQ(wait_of("192.0.2.7"), 2s);
  EXPECT_EQ(count("password"), 10U);
}

// The rate of guesses is bounded whatever the guesser does: many at once take turns, and too many are not looked at.
TEST_F(LoginGuardTest, AttemptsFromOneAddressTakeTurns) {
  for (int i = 0; i < 9; ++i) fail("192.0.2.7");
  std::vector<Duration> waits;
  std::uint64_t refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const LoginGuard::Turn turn = guard_.ask("resp", kPassword, "192.0.2.7");
    turn.refused ? ++refused : (waits.push_back(turn.wait), refused);
  }
  EXPECT_THAT(waits, testing::ElementsAre(2s, 4s));
  EXPECT_EQ(refused, 998U);
  EXPECT_EQ(count("throttled"), 998U);
  clock_->advance(4s);
  EXPECT_EQ(wait_of("192.0.2.7"), 2s) << "the places that were given out stay given out";
}

TEST_F(LoginGuardTest, GuessesPerMinuteAreBoundedHoweverManyConnectionsGuess) {
  int looked_at = 0;
  std::vector<TimePoint> due;
  const TimePoint end = clock_->now() + 1min;
  while (clock_->now() < end) {
    for (int i = 0; i < 50; ++i) {
      const LoginGuard::Turn turn = guard_.ask("resp", kPassword, "192.0.2.7");
      if (!turn.refused) due.push_back(clock_->now() + turn.wait);
    }
    for (std::size_t i = due.size(); i-- > 0;) {
      if (due[i] > clock_->now()) continue;
      due.erase(due.begin() + static_cast<std::ptrdiff_t>(i));
      ++looked_at;
      fail("192.0.2.7");
    }
    clock_->advance(10ms);
  }
  // The first round is looked at before any of it has failed.
  EXPECT_LT(looked_at, 50 + 40);
  EXPECT_GT(looked_at, 50 + 20);
}

TEST_F(LoginGuardTest, OthersAreNotDelayed) {
  for (int i = 0; i < 20; ++i) fail("192.0.2.7");
  EXPECT_EQ(wait_of("192.0.2.8"), 0us);
  EXPECT_EQ(wait_of("2001:db8::1"), 0us);
  EXPECT_EQ(wait_of(""), 0us);
  EXPECT_EQ(wait_of("192.0.2.7", LoginKind::token), 0us) << "kinds are apart";
  EXPECT_GT(wait_of("192.0.2.7"), 0us);
}

TEST_F(LoginGuardTest, ANetworkOfAddressesOfVersionSixIsOne) {
  for (int i = 0; i < 20; ++i) fail("2001:db8:1:2::" + std::to_string(i));
  EXPECT_GT(wait_of("2001:db8:1:2:ffff::9"), 0us);
  EXPECT_EQ(wait_of("2001:db8:1:3::1"), 0us);
  EXPECT_EQ(guard_.sources(), 1U);
}

TEST_F(LoginGuardTest, ASuccessAndTimeForget) {
  for (int i = 0; i < 20; ++i) fail("192.0.2.7");
  guard_.succeeded(LoginKind::token, "192.0.2.7");
  EXPECT_GT(wait_of("192.0.2.7"), 0us);
  guard_.succeeded(kPassword, "192.0.2.7");
  EXPECT_EQ(wait_of("192.0.2.7"), 0us);
  for (int i = 0; i < 20; ++i) fail("192.0.2.7");
  clock_->advance(LoginGuard::kForgetAfter);
  EXPECT_EQ(guard_.sources(), 1U);
  clock_->advance(1us);
  EXPECT_EQ(wait_of("192.0.2.7"), 0us);
  EXPECT_EQ(guard_.sources(), 0U);
}

TEST_F(LoginGuardTest, RemembersABoundedNumberAndTheLatest) {
  for (std::size_t i = 0; i < LoginGuard::kMaxSources + 100; ++i) {
    const std::string address = "10.1." + std::to_string(i / 256) + "." + std::to_string(i % 256);
    for (int failure = 0; failure < 5; ++failure) fail(address);
  }
  EXPECT_EQ(guard_.sources(), LoginGuard::kMaxSources);
  EXPECT_EQ(wait_of("10.1.0.0"), 0us) << "the oldest made room";
  EXPECT_GT(wait_of("10.1.16.99"), 0us);
  EXPECT_GT(wait_of("10.1.0.100"), 0us);
}

TEST_F(LoginGuardTest, WhatIsMissingIsCountedAndNoReasonToWait) {
  for (int i = 0; i < 100; ++i) guard_.missing({.listener = "admin", .kind = LoginKind::no_token, .address = "::1"});
  EXPECT_EQ(count("no_token"), 100U);
  EXPECT_EQ(reported_.size(), 100U);
  EXPECT_EQ(guard_.sources(), 0U);
  EXPECT_EQ(wait_of("::1", LoginKind::token), 0us);
}

TEST_F(LoginGuardTest, TakesCallsFromManyThreads) {
  LoginGuard guard(clock_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const std::string address = "10.0.0." + std::to_string((i + t) % 50);
        static_cast<void>(guard.ask("resp", kPassword, address));
        guard.failed({.listener = "resp", .kind = kPassword, .address = address});
        if (i % 10 == 0) guard.succeeded(kPassword, address);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t failures = 0;
  for (const LoginGuard::Count& each : guard.counts()) failures += each.kind == "password" ? each.count : 0;
  EXPECT_EQ(failures, 8000U);
}

}  // namespace
}  // namespace weir::transport
