// ProcessClock over a machine whose clocks the test sets.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/fake_machine.h"
#include "weir/time.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using engine::FakeMachine;
using std::chrono::nanoseconds;

class ProcessClockTest : public testing::Test {
 protected:
  // Long enough for the next reading to compare.
  void pass_a_period() { machine_.pass(ProcessClock::kComparePeriod); }

  FakeMachine machine_;
  ProcessClock clock_{machine_};
};

TEST_F(ProcessClockTest, StartsAtTheWallClockAndAdvancesWithTheMachine) {
  EXPECT_EQ(clock_.now(), machine_.wall());
  for (const nanoseconds time : {nanoseconds(1us), nanoseconds(9ms), nanoseconds(1s), nanoseconds(100h)}) {
    machine_.pass(time);
    EXPECT_EQ(clock_.now(), machine_.wall());
    EXPECT_EQ(clock_.wall(), machine_.wall());
  }
  EXPECT_EQ(clock_.read().ahead, 0us);
  EXPECT_EQ(clock_.steps().forward + clock_.steps().backward, 0u);
}

TEST_F(ProcessClockTest, FollowsAForwardStepAtOnce) {
  machine_.step(2h);
  pass_a_period();
  EXPECT_EQ(clock_.now(), machine_.wall());
  EXPECT_EQ(clock_.wall(), machine_.wall());
  EXPECT_EQ(clock_.read().ahead, 0us);
  EXPECT_EQ(clock_.steps().forward, 1u);
  EXPECT_EQ(clock_.steps().backward, 0u);
  EXPECT_EQ(clock_.steps().followed, 2h);
}

// Time passes while the clocks are compared, as when the thread is interrupted for less than kLeastStep.
TEST_F(ProcessClockTest, NeverRunsAheadOfTheWallClockThatItFollows) {
  for (const bool before : {true, false}) {
    machine_.step(2h);
    pass_a_period();
    (before ? machine_.before_wall : machine_.after_wall) = [this] { machine_.pass(900us); };
    clock_.now();
    machine_.before_wall = machine_.after_wall = nullptr;
    EXPECT_LE(clock_.now(), machine_.wall());
    EXPECT_GT(clock_.now(), machine_.wall() - 1ms) << "and behind it by less than counts as noise";
  }
  EXPECT_EQ(clock_.steps().forward, 2u);
}

TEST_F(ProcessClockTest, ComparesBeforeTheFirstAnswerAfterAQuietTime) {
  machine_.pass(10h);
  machine_.step(1h);
  EXPECT_EQ(clock_.read().now, machine_.wall());
}

TEST_F(ProcessClockTest, DoesNotCompareMoreOftenThanItSays) {
  int looks = 0;
  machine_.before_wall = [&] { ++looks; };
  for (int i = 0; i < 1000; ++i) {
    machine_.pass(ProcessClock::kComparePeriod / 100);
    clock_.now();
  }
  EXPECT_EQ(looks, 10);
}

TEST_F(ProcessClockTest, GoesOnAtTheSameRateWhenTheWallClockIsSetBack) {
  const TimePoint before = clock_.now();
  machine_.step(-2h);
  for (int i = 1; i <= 100; ++i) {
    machine_.pass(1min);
    const Reading reading = clock_.read();
    EXPECT_EQ(reading.now, before + i * 1min);
    EXPECT_EQ(reading.wall(), machine_.wall());
    EXPECT_EQ(reading.ahead, 2h);
  }
  EXPECT_EQ(clock_.steps().backward, 1u);
  EXPECT_EQ(clock_.steps().followed, 0us);
}

TEST_F(ProcessClockTest, AStepBackThatIsTakenBackLeavesNoTrace) {
  machine_.step(-2h);
  pass_a_period();
  EXPECT_EQ(clock_.read().ahead, 2h);
  machine_.step(1h);
  pass_a_period();
  EXPECT_EQ(clock_.read().ahead, 1h);
  EXPECT_EQ(clock_.wall(), machine_.wall());
  machine_.step(1h - 300us);  // where it was, but for noise
  pass_a_period();
  EXPECT_EQ(clock_.read().ahead, 0us);
  EXPECT_EQ(clock_.now(), machine_.wall() + 300us);
  EXPECT_EQ(clock_.steps().followed, 0us);
}

TEST_F(ProcessClockTest, FollowsOnlyWhatTheWallClockWasNeverBefore) {
  machine_.step(-2h);
  pass_a_period();
  machine_.step(3h);
  pass_a_period();
  EXPECT_EQ(clock_.now(), machine_.wall());
  EXPECT_EQ(clock_.read().ahead, 0us);
  EXPECT_EQ(clock_.steps().followed, 1h);
}

TEST_F(ProcessClockTest, NoiseIsNoStep) {
  for (const nanoseconds noise : {999us, -999us, -900us, 900us}) {
    machine_.step(noise);
    pass_a_period();
    EXPECT_EQ(clock_.read().ahead, 0us);
    machine_.step(-noise);
    pass_a_period();
    EXPECT_EQ(clock_.now(), machine_.wall());
  }
  EXPECT_EQ(clock_.steps().forward + clock_.steps().backward, 0u);
}

TEST_F(ProcessClockTest, ManySmallStepsAreNoticedLikeALargeOne) {
  for (int i = 0; i < 100; ++i) {
    machine_.step(500us);
    pass_a_period();
    EXPECT_LT(machine_.wall() - clock_.now(), 1ms);
  }
}

// A thread that is interrupted between its looks at the two clocks must not take that for a step.
void expect_that_interruptions_are_no_steps(std::function<void()> FakeMachine::*moment) {
  FakeMachine machine;
  ProcessClock clock(machine);
  int looks = 0;
  machine.*moment = [&] {
    if (++looks % 4 != 0) machine.pass(3s);
  };
  machine.pass(ProcessClock::kComparePeriod);
  clock.now();
  EXPECT_EQ(looks, 4);
  machine.*moment = [] {};
  EXPECT_EQ(clock.now(), machine.wall());
  // Interrupted each time: nothing is concluded, and the next period looks again.
  machine.*moment = [&] { machine.pass(3s); };
  machine.step(-1h);
  machine.pass(ProcessClock::kComparePeriod);
  EXPECT_EQ(clock.read().ahead, 0us);
  machine.*moment = nullptr;
  machine.pass(ProcessClock::kComparePeriod);
  EXPECT_EQ(clock.read().ahead, 1h);
  EXPECT_EQ(clock.steps().forward, 0u);
  EXPECT_EQ(clock.steps().backward, 1u);
  EXPECT_EQ(clock.steps().followed, 0us);
}

TEST_F(ProcessClockTest, AnInterruptionBetweenTheLooksIsNoStep) {
  expect_that_interruptions_are_no_steps(&FakeMachine::before_wall);
  expect_that_interruptions_are_no_steps(&FakeMachine::after_wall);
}

// Shorter ones cannot be distinguished from none. They must not make bucket time run ahead permanently.
TEST_F(ProcessClockTest, AShortInterruptionDoesNotCarryBucketTimeAway) {
  machine_.after_wall = [&] { machine_.pass(900us); };
  for (int i = 0; i < 1000; ++i) {
    pass_a_period();
    clock_.now();
  }
  EXPECT_EQ(clock_.now(), machine_.wall());
  EXPECT_EQ(clock_.read().ahead, 0us);
}

// Whatever happens to the wall clock: now() is the latest that it can have shown, its rate is the machine's between
// steps forward, and the other time is the wall clock's.
RC_GTEST_PROP(ProcessClockProperty, NowIsTheLatestThatTheWallClockHasShown, ()) {
  FakeMachine machine;
  ProcessClock clock(machine);
  Duration latest = machine.wall() - machine.boot();  // the most that the wall clock was ahead of the time since boot
  TimePoint last = clock.now();
  const auto steps =
      *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(-7'200'000, 7'200'000));
  for (const std::int64_t step_ms : steps) {
    // The even ones are no steps, only time that passes.
    if (step_ms % 2 != 0) machine.step(std::chrono::milliseconds(step_ms));
    machine.pass(ProcessClock::kComparePeriod + nanoseconds(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000)));
    latest = std::max(latest, machine.wall() - machine.boot());
    const Reading reading = clock.read();
    RC_ASSERT(reading.now >= last);
    RC_ASSERT(reading.now >= machine.boot() + latest - 1ms);
    RC_ASSERT(reading.now <= machine.boot() + latest);
    RC_ASSERT(reading.ahead >= 0us);
    RC_ASSERT(reading.wall() <= machine.wall() + 1ms);
    RC_ASSERT(reading.wall() >= machine.wall() - 1ms);
    last = reading.now;
  }
}

// A time that one thread has read is never later than what another thread reads afterwards.
TEST(ProcessClockThreads, NoThreadSeesTimeRunBackward) {
  FakeMachine machine;
  ProcessClock clock(machine);
  std::atomic<std::int64_t> told{0};
  std::atomic<int> asking{2};
  std::atomic<int> backward{0};
  std::atomic<int> negative{0};
  const auto ask = [&] {
    for (int i = 0; i < 20'000 || clock.steps().forward < 50; ++i) {
      const std::int64_t before = told.load();
      const Reading reading = clock.read();
      if (micros(reading.now) < before) ++backward;
      if (reading.ahead < 0us) ++negative;
      std::int64_t most = before;
      while (most < micros(reading.now) && !told.compare_exchange_weak(most, micros(reading.now))) {
      }
    }
    --asking;
  };
  std::thread one(ask);
  std::thread two(ask);
  for (int i = 0; asking > 0; ++i) {
    machine.pass(ProcessClock::kComparePeriod / 2);
    machine.step(i % 3 == 0 ? -1s : i % 5 == 0 ? 3s : 0s);
  }
  one.join();
  two.join();
  EXPECT_EQ(backward, 0);
  EXPECT_EQ(negative, 0);
}

TEST(MachineClocks, TheProcessStartsAtTheTimeOfDay) {
  ProcessClock clock;
  const auto before = std::chrono::system_clock::now();
  const TimePoint now = clock.now();
  EXPECT_GE(now, std::chrono::floor<Duration>(before) - ProcessClock::kLeastStep);
  EXPECT_LE(now, std::chrono::system_clock::now());
  EXPECT_LT(clock.read().ahead, 1s);
}

TEST(MachineClocks, TheSteadyClockDoesNotRunBackward) {
  SteadyClock clock;
  const TimePoint first = clock.now();
  EXPECT_GE(clock.now(), first);
  EXPECT_EQ(clock.read().ahead, 0us);
}

}  // namespace
}  // namespace weir
