#include "stores/redis/breaker.h"

#include <gtest/gtest.h>

#include <vector>

#include "stores/redis/stats.h"

namespace weir::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class BreakerTest : public ::testing::Test {
 protected:
  void fail(int times) {
    for (int i = 0; i < times; ++i) breaker_.call_failed(now_);
  }

  std::vector<BreakerState> changes_;
  SteadyTime now_{seconds(1000)};
  Breaker breaker_{BreakerOptions{}, 7, [this](BreakerState state) { changes_.push_back(state); }};
};

TEST_F(BreakerTest, OpensAfterThreeFailuresInARow) {
  fail(2);
  EXPECT_TRUE(breaker_.closed());
  fail(1);
  EXPECT_FALSE(breaker_.closed());
  EXPECT_EQ(changes_, std::vector{BreakerState::open});
}

TEST_F(BreakerTest, ASuccessInBetweenStartsTheCountAnew) {
  fail(2);
  breaker_.call_succeeded();
  fail(2);
  EXPECT_TRUE(breaker_.closed());
}

TEST_F(BreakerTest, ProbesOnlyWhenDueAndOnlyOnce) {
  EXPECT_FALSE(breaker_.probe_at().has_value());
  fail(3);
  ASSERT_TRUE(breaker_.probe_at().has_value());
  EXPECT_GE(*breaker_.probe_at(), now_ + milliseconds(100));
  EXPECT_LE(*breaker_.probe_at(), now_ + milliseconds(200));
  EXPECT_FALSE(breaker_.start_probe(now_));
  now_ = *breaker_.probe_at();
  EXPECT_TRUE(breaker_.start_probe(now_));
  EXPECT_EQ(breaker_.state(), BreakerState::half_open);
  EXPECT_FALSE(breaker_.start_probe(now_));
  EXPECT_FALSE(breaker_.closed()) << "calls still wait for the probe";
}

TEST_F(BreakerTest, OneSuccessfulProbeCloses) {
  fail(3);
  now_ = *breaker_.probe_at();
  ASSERT_TRUE(breaker_.start_probe(now_));
  breaker_.probe_succeeded(now_);
  EXPECT_TRUE(breaker_.closed());
  EXPECT_EQ(changes_, (std::vector{BreakerState::open, BreakerState::closed}));
  fail(2);
  EXPECT_TRUE(breaker_.closed()) << "earlier failures are forgotten";
}

TEST_F(BreakerTest, FailedProbesComeLessAndLessOftenUpToABoundAndAreNoNews) {
  fail(3);
  milliseconds longest{0};
  for (int i = 0; i < 20; ++i) {
    const SteadyTime due = *breaker_.probe_at();
    longest = std::max(longest, std::chrono::duration_cast<milliseconds>(due - now_));
    now_ = due;
    ASSERT_TRUE(breaker_.start_probe(now_));
    breaker_.probe_failed(now_);
  }
  EXPECT_GT(longest, milliseconds(2400));
  EXPECT_LE(longest, milliseconds(5000));
  EXPECT_EQ(changes_.size(), 1U);
}

// A server that passes probes and fails calls.
TEST_F(BreakerTest, OneThatOpensAgainSoonIsProbedLessAndLessOften) {
  milliseconds last{0};
  for (int i = 0; i < 8; ++i) {
    fail(3);
    const SteadyTime due = *breaker_.probe_at();
    last = std::chrono::duration_cast<milliseconds>(due - now_);
    now_ = due;
    ASSERT_TRUE(breaker_.start_probe(now_));
    breaker_.probe_succeeded(now_);
  }
  EXPECT_GT(last, milliseconds(2400));
  EXPECT_LE(last, milliseconds(5000));
  now_ += seconds(6);
  fail(3);
  EXPECT_LE(*breaker_.probe_at(), now_ + milliseconds(200)) << "one that has been closed for a while starts over";
}

TEST_F(BreakerTest, NewsHurryTheProbe) {
  fail(3);
  breaker_.hurry(now_);
  EXPECT_TRUE(breaker_.start_probe(now_));
}

TEST_F(BreakerTest, LateAnswersOfEarlierCallsDoNotMoveIt) {
  fail(3);
  breaker_.call_succeeded();
  EXPECT_FALSE(breaker_.closed());
  fail(5);
  EXPECT_EQ(changes_.size(), 1U);
  breaker_.probe_succeeded(now_);
  EXPECT_FALSE(breaker_.closed()) << "no probe was started";
}

TEST(StoreStatsTest, CountsHowLongSomeBreakerWasOpen) {
  StoreStats stats;
  const SteadyTime start{seconds(1000)};
  stats.breaker_changed(true, start);
  stats.breaker_changed(true, start + seconds(1));
  EXPECT_EQ(stats.refused_for(start + seconds(3)), seconds(3));
  stats.breaker_changed(false, start + seconds(3));
  EXPECT_EQ(stats.breaker(), BreakerState::open) << "the other one still is";
  stats.breaker_changed(false, start + seconds(5));
  EXPECT_EQ(stats.breaker(), BreakerState::closed);
  EXPECT_EQ(stats.refused_for(start + seconds(60)), seconds(5));
  EXPECT_EQ(stats.breaker_opened, 2U);
}

TEST(StoreStatsTest, SortsLatenciesByPowersOfTwo) {
  StoreStats stats;
  for (const int us : {0, 15, 16, 31, 32, 100'000'000}) stats.add_latency(std::chrono::microseconds(us));
  EXPECT_EQ(stats.latency[0], 2U);
  EXPECT_EQ(stats.latency[1], 2U);
  EXPECT_EQ(stats.latency[2], 1U);
  EXPECT_EQ(stats.latency[StoreStats::kLatencyBuckets - 1], 1U);
  EXPECT_EQ(StoreStats::latency_bound(1), std::chrono::microseconds(32));
}

TEST(BreakerSpread, DifferentSeedsProbeAtDifferentTimes) {
  Breaker one{BreakerOptions{}, 1};
  Breaker two{BreakerOptions{}, 2};
  const SteadyTime now{seconds(1)};
  for (int i = 0; i < 3; ++i) {
    one.call_failed(now);
    two.call_failed(now);
  }
  EXPECT_NE(*one.probe_at(), *two.probe_at());
}

}  // namespace
}  // namespace weir::redis
