// The published cases of governor (Rust). A quota of n per second there is a GCRA of n per second with a burst of n
// here. Its "check only" is a peek.
#include <gtest/gtest.h>

#include "tests/peers/peer_bucket.h"

namespace weir::peers {
namespace {

AllowanceSpec per_second(std::int64_t cells) { return limit_of(Algorithm::gcra, cells, 1s); }

TEST(PeerGovernor, AcceptsTheFirstCell) {
  PeerBucket bucket(per_second(5));
  EXPECT_TRUE(bucket.take(1, "1").allowed);
  EXPECT_TRUE(bucket.take(1, "2").allowed);
}

TEST(PeerGovernor, LookingConsumesNothing) {
  PeerBucket one(per_second(1));
  EXPECT_TRUE(one.peek(1).allowed);
  EXPECT_TRUE(one.peek(1).allowed);
  PeerBucket three(per_second(3));
  EXPECT_TRUE(three.peek(3).allowed);
  EXPECT_TRUE(three.peek(3).allowed);
}

// By taking, by looking before taking, and by looking where a denial is expected: the answers are the same.
TEST(PeerGovernor, RejectsTooManyAndAcceptsThemASecondLater) {
  for (const std::int64_t cells : {1, 2}) {  // two calls of one cell in two per second, of two in four
    for (const bool look_first : {false, true}) {
      PeerBucket bucket(per_second(2 * cells));
      for (const auto& [now, fits] : {std::pair<Duration, bool>{0ms, true},
                                      {1ms, true},
                                      {2ms, false},
                                      {1002ms, true},
                                      {1003ms, true},
                                      {1004ms, false}}) {
        bucket.at(now);
        if (look_first) {
          EXPECT_EQ(bucket.peek(cells).allowed, fits) << now.count();
        }
        EXPECT_EQ(bucket.take(cells).allowed, fits) << now.count();
      }
    }
  }
}

TEST(PeerGovernor, RejectsTooManyOfEachKey) {
  PeerBucket bucket(per_second(2));
  for (const std::string_view key : {"1", "2"}) {
    for (const auto& [pause, fits] :
         {std::pair<Duration, bool>{0ms, true}, {1ms, true}, {1ms, false}, {1s, true}, {1ms, true}, {1ms, false}}) {
      bucket.advance(pause);
      EXPECT_EQ(bucket.take(1, key).allowed, fits);
    }
  }
}

// Once it admitted one more than the burst after a pause that was longer than the burst's.
TEST(PeerGovernor, AdmitsNoExtraCellAfterALongPause) {
  PeerBucket bucket(per_second(5));
  for (const Duration now : {Duration{0s}, Duration{2s}}) {
    bucket.at(now);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(bucket.take(1).allowed);
    EXPECT_FALSE(bucket.take(1).allowed);
  }
}

TEST(PeerGovernor, NeverAdmitsMoreThanTheCapacityAtOnce) {
  PeerBucket bucket(per_second(5));
  for (const std::int64_t cells : {15, 7, 6}) {
    EXPECT_EQ(bucket.peek(cells), never_fits(5, 0s));
    EXPECT_EQ(bucket.take(cells), never_fits(5, 0s));
  }
  bucket.at(3s);
  EXPECT_TRUE(bucket.take(15).never_fits);
  bucket.at(20s);
  EXPECT_TRUE(bucket.take(15).never_fits);
  EXPECT_TRUE(bucket.take(5).allowed);
}

TEST(PeerGovernor, WhoWaitsAsToldIsAlwaysAdmitted) {
  PeerBucket bucket(per_second(5));
  int waited = 0;
  for (int i = 0; i < 20; ++i) {
    bucket.advance(1ms);
    const Answer answer = bucket.take(1);
    if (answer.allowed) continue;
    ++waited;
    bucket.advance(answer.retry_after);
    EXPECT_TRUE(bucket.take(1).allowed) << i;
  }
  EXPECT_EQ(waited, 15);
}

// Its property test, over a grid: denied at every part of the wait, admitted exactly at its end.
TEST(PeerGovernor, TellsTheFirstMomentAtWhichACellFits) {
  for (const std::int64_t capacity : {1, 2, 7, 64, 999, 9'999}) {
    for (const int additional : {1, 13, 100}) {
      PeerBucket bucket(per_second(capacity));
      EXPECT_TRUE(bucket.take(capacity).allowed);
      const Duration step{(1'000'000 + capacity - 1) / capacity};
      for (int i = 0; i < additional; ++i) {
        bucket.advance(step);
        EXPECT_TRUE(bucket.take(1).allowed);
      }
      const Answer answer = bucket.take(1);
      ASSERT_FALSE(answer.allowed);
      constexpr int kParts = 10;
      const Duration part = (answer.retry_after - 1us) / kParts;
      for (int i = 0; i < kParts; ++i) {
        bucket.advance(part);
        ASSERT_FALSE(bucket.take(1).allowed) << capacity << ' ' << i;
      }
      bucket.advance(answer.retry_after - kParts * part);
      ASSERT_TRUE(bucket.take(1).allowed) << capacity;
    }
  }
}

TEST(PeerGovernor, TwentyThreadsGetTheBurstOfTwenty) {
  PeerBucket bucket(per_second(20));
  for (const std::string_view key : {"1", "2"}) {
    EXPECT_EQ(bucket.admitted_of(20, key), 20);
    bucket.advance(2ms);
    EXPECT_FALSE(bucket.take(1, key).allowed);
    bucket.advance(998ms);
    EXPECT_TRUE(bucket.take(1, key).allowed);
  }
}

TEST(PeerGovernor, CountsMoreThanOneCellPerNanosecond) {
  constexpr std::int64_t kCells = 1'000'000'001;
  PeerBucket bucket(per_second(kCells));
  for (int i = 1; i <= 1'000; ++i) ASSERT_EQ(bucket.take(1).remaining, kCells - i);
}

TEST(PeerGovernor, TellsTheBurstThatIsLeft) {
  PeerBucket bucket(per_second(4));
  for (const std::int64_t left : {3, 2, 1, 0}) EXPECT_EQ(bucket.take(1).remaining, left);
  EXPECT_FALSE(bucket.take(1).allowed);
  PeerBucket hour(limit_of(Algorithm::gcra, 1, 1h));
  EXPECT_TRUE(hour.take(1).allowed);
  EXPECT_EQ(hour.take(1), denied(0, 1h, 1h));
}

// The published sequence admits a sixth cell after the pause and says there that this is wrong.
TEST(PeerGovernor, TellsTheBurstThatIsLeftAfterAPauseToo) {
  PeerBucket bucket(limit_of(Algorithm::gcra, 5, 1min));
  EXPECT_EQ(bucket.take(1).remaining, 4);
  EXPECT_EQ(bucket.take(3).remaining, 1);
  EXPECT_EQ(bucket.take(1).remaining, 0);
  EXPECT_FALSE(bucket.take(1).allowed);
  bucket.at(120s);
  for (const std::int64_t left : {4, 3, 2, 1, 0}) EXPECT_EQ(bucket.take(1).remaining, left);
  EXPECT_FALSE(bucket.take(1).allowed);  // admitted there
}

TEST(PeerGovernor, LookingManyTimesDoesNotChangeADecision) {
  PeerBucket bucket(per_second(2));
  const auto look = [&](std::string_view key, bool fits) {
    for (int i = 0; i < 10; ++i) {
      bucket.advance(1ms);
      EXPECT_EQ(bucket.peek(1, key).allowed, fits);
    }
  };
  for (const std::string_view key : {"1", "2"}) {
    look(key, true);
    EXPECT_TRUE(bucket.take(1, key).allowed);
    look(key, true);
    EXPECT_TRUE(bucket.take(1, key).allowed);
    look(key, false);
    EXPECT_FALSE(bucket.take(1, key).allowed);
    look(key, false);
    bucket.advance(1s);
    EXPECT_TRUE(bucket.take(1, key).allowed);
    look(key, true);
    EXPECT_TRUE(bucket.take(1, key).allowed);
    EXPECT_FALSE(bucket.take(1, key).allowed);
    look(key, false);
  }
}

TEST(PeerGovernor, AResetForgetsOneKey) {
  PeerBucket bucket(per_second(2));
  for (const std::string_view key : {"1", "2"}) {
    EXPECT_TRUE(bucket.take(2, key).allowed);
    EXPECT_FALSE(bucket.take(1, key).allowed);
  }
  bucket.reset("1");
  EXPECT_FALSE(bucket.take(1, "2").allowed);
  EXPECT_TRUE(bucket.take(1, "1").allowed);
  bucket.reset("1");
  EXPECT_TRUE(bucket.take(1, "1").allowed);
  EXPECT_TRUE(bucket.take(1, "1").allowed);
  EXPECT_FALSE(bucket.take(1, "1").allowed);
}

// Its partial takes are a look at what is left and a take of that much.
TEST(PeerGovernor, WhatIsLeftCanBeTaken) {
  PeerBucket bucket(per_second(10));
  const auto take_any = [&](std::int64_t wanted, std::string_view key = PeerBucket::kSubject) {
    const std::int64_t fits = std::min(wanted, bucket.remaining(key));
    EXPECT_TRUE(bucket.take(fits, key).allowed);
    return fits;
  };
  EXPECT_EQ(take_any(7), 7);
  EXPECT_EQ(take_any(10), 3);
  EXPECT_EQ(take_any(10), 0);
  EXPECT_EQ(take_any(100, "user2"), 10);
  EXPECT_EQ(take_any(1, "user2"), 0);
  for (int i = 0; i < 5; ++i) {
    bucket.advance(100ms);
    EXPECT_EQ(take_any(10), 1);
  }
  bucket.advance(500ms);
  EXPECT_EQ(take_any(10), 5);
}

}  // namespace
}  // namespace weir::peers
