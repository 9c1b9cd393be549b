// Decisions while the wall clock is set: a limiter whose clock is set beside a twin whose clock is not.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "tests/support/fake_machine.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kLimit = 10;
constexpr Duration kWindow = 1h;

Rule rule_of(Algorithm algorithm) {
  Rule rule;
  rule.id = "r";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = algorithm, .limit = kLimit, .window = kWindow};
  return rule;
}

// A limiter with a machine of its own, which starts in the middle of an aligned window.
class SteppedLimiter {
 public:
  explicit SteppedLimiter(const Rule& rule) : clock_(std::make_shared<ProcessClock>(machine_)) {
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace({.rules = {rule}}).ok());
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    engine_ = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
    pass(30min - Duration(micros(machine_.wall()) % kWindow.count()) + kWindow);
  }
  // Both return how many windows begin by the wall clock in the time that passes.
  std::int64_t pass(Duration time) {
    const std::int64_t before = window();
    machine_.pass(time);
    store_->sweep(clock_->now(), 1'000'000);
    return window() - before;
  }
  std::int64_t step(Duration by) {
    machine_.step(by);
    const std::int64_t before = window();
    machine_.pass(ProcessClock::kComparePeriod);
    return window() - before;
  }
  Decision ask() { return engine_->check({{"tenant", "acme"}}); }
  // How many of many requests are admitted.
  std::int64_t flood() {
    std::int64_t admitted = 0;
    for (std::int64_t i = 0; i < 2 * kLimit + 1; ++i) admitted += ask().allowed ? 1 : 0;
    return admitted;
  }
  std::int64_t window() const { return micros(machine_.wall()) / kWindow.count(); }
  Duration into_window() const { return Duration(micros(machine_.wall()) % kWindow.count()); }

 private:
  FakeMachine machine_;
  std::shared_ptr<ProcessClock> clock_;
  std::shared_ptr<memory::MemoryStore> store_ = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  std::unique_ptr<Engine> engine_;
};

class SteppedClockTest : public testing::TestWithParam<Algorithm> {};
class SteppedWithoutCalendarTest : public SteppedClockTest {};

TEST_P(SteppedClockTest, AStepBackChangesNothing) {
  SteppedLimiter stepped(rule_of(GetParam()));
  SteppedLimiter twin(rule_of(GetParam()));
  EXPECT_EQ(stepped.flood(), twin.flood());
  // By whole windows, so that calendar windows begin when they would have begun.
  stepped.step(-5 * kWindow);
  twin.step(0us);
  for (int i = 0; i < 40; ++i) {
    const Decision here = stepped.ask();
    const Decision there = twin.ask();
    EXPECT_EQ(here.allowed, there.allowed) << i;
    EXPECT_EQ(here.retry_after, there.retry_after) << i;
    EXPECT_EQ(here.rules[0].remaining, there.rules[0].remaining) << i;
    EXPECT_EQ(here.rules[0].reset_after, there.rules[0].reset_after) << i;
    stepped.pass(kWindow / 17);
    twin.pass(kWindow / 17);
  }
}

TEST_P(SteppedClockTest, AStepForwardAdmitsAtMostOneMoreLimit) {
  SteppedLimiter stepped(rule_of(GetParam()));
  EXPECT_GE(stepped.flood(), kLimit);
  stepped.step(1000 * kWindow);
  const std::int64_t first = stepped.flood();
  EXPECT_LE(first, kLimit + 1);  // leaky-bucket passes one more than it lets wait
  EXPECT_GE(first, kLimit);
  // There and back again gives nothing more.
  stepped.step(-1000 * kWindow);
  EXPECT_EQ(stepped.flood(), 0);
  stepped.step(1000 * kWindow);
  EXPECT_EQ(stepped.flood(), 0);
}

// Whatever is done to the clock: at most as much as without it, plus one limit for each time that it was set, plus one
// because windows may now begin earlier than the twin's. Calendar windows go by the new time of day after each step, so
// they are compared with their own calendar below.
TEST_P(SteppedWithoutCalendarTest, EachStepAdmitsAtMostOneMoreLimit) {
  rc::detail::checkGTest([algorithm = GetParam()] {
    SteppedLimiter stepped(rule_of(algorithm));
    SteppedLimiter twin(rule_of(algorithm));
    std::int64_t admitted = stepped.flood();
    std::int64_t without = twin.flood();
    std::int64_t steps = 0;
    const auto moves = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-200, 200));
    for (const int move : moves) {
      const bool is_step = *rc::gen::inRange(0, 4) == 0;
      steps += is_step ? 1 : 0;
      stepped.step(is_step ? move * kWindow / 70 : 0us);
      twin.step(0us);
      const Duration passed = *rc::gen::inRange(0, 30) * kWindow / 60;
      stepped.pass(passed);
      twin.pass(passed);
      admitted += stepped.flood();
      without += twin.flood();
      RC_ASSERT(admitted <= without + (steps + 1) * (kLimit + 1));
      // No caller has to wait longer because of it.
      RC_ASSERT(admitted >= without - (steps + 1) * (kLimit + 1));
      const Decision now = stepped.ask();
      RC_ASSERT(now.allowed || now.retry_after <= 2 * kWindow);  // sliding-counter remembers the window before
    }
  });
}

// One limit for each window that begins by the wall clock, and one for each time that it was set: never more.
TEST(CalendarWindows, AdmitOneLimitEachAndOneMoreForEachStep) {
  rc::detail::checkGTest([] {
    SteppedLimiter limiter(rule_of(Algorithm::fixed_window));
    std::int64_t admitted = limiter.flood();
    std::int64_t windows = 1;
    std::int64_t steps = 0;
    const auto moves = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-200, 200));
    for (const int move : moves) {
      const bool is_step = *rc::gen::inRange(0, 2) == 0;
      steps += is_step ? 1 : 0;
      windows += limiter.step(is_step ? move * kWindow / 70 : 0us);
      windows += limiter.pass(*rc::gen::inRange(0, 60) * kWindow / 60);
      admitted += limiter.flood();
      RC_ASSERT(admitted <= (windows + steps) * kLimit);
      const Decision now = limiter.ask();
      RC_ASSERT(now.allowed || now.retry_after <= kWindow - limiter.into_window());
    }
  });
}

// A step over a boundary and close to the next: the step gives one limit, the window that then begins another.
TEST(CalendarWindows, GoByTheNewTimeOfDayAfterAStepForward) {
  SteppedLimiter limiter(rule_of(Algorithm::fixed_window));
  ASSERT_EQ(limiter.flood(), kLimit);
  limiter.step(kWindow + 29min);
  EXPECT_EQ(limiter.flood(), kLimit);
  limiter.pass(1min);
  EXPECT_EQ(limiter.flood(), kLimit);
  limiter.pass(59min);
  EXPECT_EQ(limiter.flood(), 0);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, SteppedClockTest,
                         testing::Values(Algorithm::fixed_window, Algorithm::bucketed_window, Algorithm::sliding_log,
                                         Algorithm::sliding_counter, Algorithm::token_bucket, Algorithm::gcra,
                                         Algorithm::leaky_bucket));
INSTANTIATE_TEST_SUITE_P(Algorithms, SteppedWithoutCalendarTest,
                         testing::Values(Algorithm::bucketed_window, Algorithm::sliding_log, Algorithm::sliding_counter,
                                         Algorithm::token_bucket, Algorithm::gcra, Algorithm::leaky_bucket));

// The window under way ends when it would have ended, as callers were told; the next ones begin by the new time of day.
TEST(CalendarWindows, BeginWhenTheWallClockSaysSo) {
  SteppedLimiter limiter(rule_of(Algorithm::fixed_window));
  ASSERT_EQ(limiter.flood(), kLimit);
  for (const Duration step : {-20min, -130min, 45min, -600min, 77min}) {
    const Duration told = limiter.ask().retry_after;
    limiter.step(step);
    limiter.flood();
    const Duration wait = limiter.ask().retry_after;
    if (step < 0us) {
      EXPECT_LE(wait, told);
    }
    EXPECT_LE(wait, kWindow - limiter.into_window());
    limiter.pass(wait - 1us);
    EXPECT_FALSE(limiter.ask().allowed);
    limiter.pass(1us);
    EXPECT_EQ(limiter.flood(), kLimit);
    for (int i = 0; i < 3; ++i) {
      const Duration left = kWindow - limiter.into_window();
      EXPECT_EQ(limiter.ask().retry_after, left);
      limiter.pass(left - 1us);
      EXPECT_FALSE(limiter.ask().allowed);
      limiter.pass(1us);
      EXPECT_EQ(limiter.flood(), kLimit);
    }
  }
}

TEST(TemporaryOverrides, EndWhenTheWallClockSaysSo) {
  Rule rule = rule_of(Algorithm::token_bucket);
  Override lifted;
  lifted.change.unlimited = true;
  FakeMachine machine;
  lifted.until = machine.wall() + kWindow + 3h;
  rule.overrides = {lifted};
  SteppedLimiter limiter(rule);  // up to one window and a half later
  EXPECT_TRUE(limiter.ask().rules[0].unlimited);
  limiter.step(4h);
  EXPECT_FALSE(limiter.ask().rules[0].unlimited);
  limiter.step(-4h);
  EXPECT_TRUE(limiter.ask().rules[0].unlimited) << "by the calendar it is not over yet";
  limiter.pass(4h);
  EXPECT_FALSE(limiter.ask().rules[0].unlimited);
}

}  // namespace
}  // namespace weir::engine
