// TickTimer over a counter and a clock that the test moves.
#include "engine/tick_timer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace weir::engine {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class FakeCounter final : public TickTimer::Source {
 public:
  std::uint64_t ticks() override { return ticks_; }
  std::int64_t since_boot_ns() override {
    ++looks;
    ns_ += look_takes_ns;
    return ns_;
  }

  // Time passes on both, the counter at `ticks_in_1000` for each microsecond.
  void pass(std::int64_t ns) {
    ns_ += ns;
    ticks_ += static_cast<std::uint64_t>(ns) * ticks_in_1000 / 1'000;
  }
  void sleep(std::int64_t ns) { ns_ += ns; }            // a suspended machine: no ticks
  void count(std::uint64_t ticks) { ticks_ += ticks; }  // a broken counter: no time
  // As a machine does that wakes up.
  void restart_counter() {
    sleep(kMs);
    ticks_ /= 2;
  }
  std::int64_t real() const { return ns_; }

  std::uint64_t ticks_in_1000 = 2'400;
  std::int64_t look_takes_ns = 0;
  std::int64_t looks = 0;

 private:
  std::uint64_t ticks_ = 77'000'000'000;
  std::int64_t ns_ = 5'000 * kMs;
};

class TickTimerTest : public testing::Test {
 protected:
  // Until the rate is known.
  void settle() {
    for (int i = 0; i < 8; ++i) {
      counter_.pass(6 * kMs);
      timer_.now();
    }
  }

  FakeCounter counter_;
  TickTimer timer_{counter_};
};

TEST_F(TickTimerTest, AsksTheClockUntilTheRateIsKnownAndThenOncePerSpan) {
  EXPECT_EQ(timer_.now(), counter_.real());
  settle();
  const std::int64_t before = counter_.looks;
  constexpr int kSpans = 20;
  constexpr int kReadingsPerSpan = 100;
  for (int i = 0; i < kSpans * kReadingsPerSpan; ++i) {
    counter_.pass(TickTimer::kSpanNs / kReadingsPerSpan);
    EXPECT_NEAR(static_cast<double>(timer_.now()), static_cast<double>(counter_.real()), 50);
  }
  EXPECT_LE(counter_.looks - before, 3 * (kSpans + 1)) << "three looks at the clock for each anchor";
}

TEST_F(TickTimerTest, FollowsTheClockAfterALongPause) {
  settle();
  counter_.pass(3'600'000 * kMs);
  EXPECT_EQ(timer_.now(), counter_.real());
}

TEST_F(TickTimerTest, CountsTheSleepOfASuspendedMachineAtTheNextAnchor) {
  settle();
  counter_.sleep(3'600'000 * kMs);
  counter_.pass(TickTimer::kSpanNs);
  EXPECT_EQ(timer_.now(), counter_.real());
  settle();
  counter_.pass(kMs);
  EXPECT_NEAR(static_cast<double>(timer_.now()), static_cast<double>(counter_.real()), 100) << "at the rate of before";
  EXPECT_TRUE(timer_.trusted());
}

TEST_F(TickTimerTest, SurvivesACounterThatBeginsAgain) {
  settle();
  const std::int64_t before = timer_.now();
  counter_.restart_counter();
  counter_.pass(2 * kMs);
  EXPECT_GE(timer_.now(), before);
  EXPECT_NEAR(static_cast<double>(timer_.now()), static_cast<double>(counter_.real()), 25'000);
  settle();
  EXPECT_NEAR(static_cast<double>(timer_.now()), static_cast<double>(counter_.real()), 100);
}

TEST_F(TickTimerTest, StopsTrustingACounterThatRunsAway) {
  settle();
  counter_.count(20 * kMs);  // some eight milliseconds ahead of the clock
  std::int64_t last = timer_.now();
  for (int i = 0; i < 40; ++i) {
    counter_.pass(kMs);
    const std::int64_t now = timer_.now();
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_FALSE(timer_.trusted());
  EXPECT_EQ(last, counter_.real()) << "the clock has caught up, and is what is told";
}

TEST_F(TickTimerTest, LearnsAnotherRateAfterTwoMeasurementsThatAgree) {
  settle();
  counter_.ticks_in_1000 = 2'350;
  for (int i = 0; i < 60; ++i) {
    counter_.pass(6 * kMs);
    timer_.now();
  }
  counter_.pass(5 * kMs);
  EXPECT_NEAR(static_cast<double>(timer_.now()), static_cast<double>(counter_.real()), 1'000);
}

TEST_F(TickTimerTest, MakesNoAnchorOfALookThatWasInterrupted) {
  settle();
  counter_.look_takes_ns = TickTimer::kLongestLookNs + 1;
  counter_.pass(TickTimer::kSpanNs);
  timer_.now();
  counter_.look_takes_ns = 0;
  counter_.pass(kMs / 10);
  EXPECT_NEAR(static_cast<double>(timer_.now()), static_cast<double>(counter_.real()), 100);
}

// Rates that NTP corrects, sleeps, pauses, a counter that begins again: never backward, and never far from the clock.
RC_GTEST_PROP(TickTimer, NeverRunsBackwardAndStaysNearTheClock, ()) {
  FakeCounter counter;
  TickTimer timer(counter);
  std::int64_t last = 0;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 100), rc::gen::inRange(1, 20'000)));
  for (const auto& [kind, size] : steps) {
    if (kind < 90) counter.pass(std::int64_t{size} * 1'000);
    if (kind >= 90 && kind < 94) counter.sleep(std::int64_t{size} * kMs);
    if (kind >= 94 && kind < 96) counter.pass(std::int64_t{size} * kMs);
    if (kind == 96) counter.restart_counter();
    if (kind > 96) counter.ticks_in_1000 = 2'400 + static_cast<std::uint64_t>(size % 3) - 1;  // about 400 ppm
    const std::int64_t now = timer.now();
    RC_ASSERT(now >= last);
    RC_ASSERT(now <= counter.real() + TickTimer::kMostAheadNs);
    if (kind < 90) RC_ASSERT(now <= counter.real() + 100'000);
    last = now;
  }
}

// The machine's own counter, where there is one.
TEST(TickTimer, AgreesWithTheMachineOnEveryThread) {
  const std::unique_ptr<TickTimer> timer = TickTimer::of_this_machine();
  if (timer == nullptr) return;
  constexpr int kReadings = 200'000;
  constexpr std::int64_t kReordered = 20'000;  // some microseconds, as the header says
  std::atomic<std::int64_t> latest{0};
  std::atomic<int> backward{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::int64_t own = 0;
      for (int i = 0; i < kReadings; ++i) {
        const std::int64_t seen = latest.load();
        const std::int64_t now = timer->now();
        if (now < own || now < seen - kReordered) ++backward;
        own = now;
        std::int64_t shown = latest.load();
        while (shown < now && !latest.compare_exchange_weak(shown, now)) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(backward, 0);
  EXPECT_TRUE(timer->trusted());
}

}  // namespace
}  // namespace weir::engine
