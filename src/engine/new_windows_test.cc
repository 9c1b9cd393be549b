// Window lengths that are new to a rule, by reloads and by overrides at run time: what was used before stays used.
#include <random>

#include "tests/support/windows_engine.h"
#include "weir/prepared_check.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

struct Numbers {
  std::int64_t limit = 100;
  Duration window = 1h;
};

class NewWindows : public WindowsTest {
 protected:
  // The rule's own numbers, and those of the plan p.
  void load(Numbers own, std::optional<Numbers> plan = std::nullopt) {
    Rule rule = rule_of(own.limit, own.window);
    if (plan) {
      AllowanceChange change;
      change.limit = plan->limit;
      change.window = plan->window;
      rule.plans = {{"p", change}};
    }
    WindowsTest::load(std::move(rule));
  }
  void override_window(Numbers numbers) {
    rules::RuntimeOverride made;
    made.rules = {"r"};
    made.change.when = {{"tenant", {"acme"}}};
    made.change.change.limit = numbers.limit;
    made.change.change.window = numbers.window;
    made.change.use = std::make_shared<UseMark>("ovr_1");
    ASSERT_TRUE(book_->set_overrides({made}, clock_->wall()).ok());
  }
  Decision ask(std::string_view plan, std::int64_t cost = 1) { return check({"plan", plan}, cost); }
  // How many units of 10 each are admitted.
  std::int64_t take(std::string_view plan) {
    std::int64_t units = 0;
    while (units < 1'000 && ask(plan, 10).allowed) units += 10;
    return units;
  }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, NewWindows, algorithms_with_windows(), algorithm_in_a_test_name);

TEST_P(NewWindows, ReloadsGiveNothingAgain) {
  load({100, 60min});
  ASSERT_EQ(take(""), 100);
  load({100, 60min}, Numbers{100, 120min});
  EXPECT_EQ(take("p"), 0) << "a plan with another window";
  EXPECT_EQ(take(""), 0);
  load({100, 180min}, Numbers{100, 60min});
  EXPECT_EQ(take("p"), 0) << "the plan has the window that was the rule's";
  EXPECT_EQ(take(""), 0);
  load({100, 240min}, Numbers{100, 300min});
  EXPECT_EQ(take("p"), 0) << "only new windows";
  EXPECT_EQ(take(""), 0);
  load({100, 60min});
  EXPECT_EQ(take(""), 0) << "as it was";
}

TEST_P(NewWindows, OverridesAtRunTimeGiveNothingAgain) {
  load({100, 60min});
  ASSERT_EQ(take(""), 100);
  for (const Duration window : {Duration(120min), Duration(240min), Duration(300min), Duration(10min)}) {
    override_window({100, window});
    EXPECT_EQ(take(""), 0) << window.count();
  }
  override_window({150, 240min});
  EXPECT_EQ(take(""), 50) << "only what the limit was raised by";
}

TEST_P(NewWindows, TheWaitIsExact) {
  load({100, 60min});
  ASSERT_EQ(take(""), 100);
  clock_->advance(7min);
  load({100, 60min}, Numbers{100, 15min});
  for (int step = 0; step < 4; ++step) {
    const Decision denied = ask("p", 40);
    if (denied.allowed) {
      EXPECT_GT(step, 0);
      return;
    }
    ASSERT_EQ(denied.rules.size(), 1U);
    ASSERT_GT(denied.retry_after, Duration::zero());
    EXPECT_LE(denied.retry_after, 30min) << "two windows of the plan";
    clock_->advance(denied.retry_after - Duration{1});
    EXPECT_FALSE(ask("p", 40).allowed);
    clock_->advance(Duration{1});
    EXPECT_TRUE(ask("p", 40).allowed);
  }
}

TEST_P(NewWindows, PreparedChecksSeeWhenACountIsComplete) {
  load({100, 60min});
  ASSERT_EQ(take(""), 100);
  load({100, 60min}, Numbers{100, 1min});
  const auto prepared = engine_->prepare({{"tenant", "acme"}, {"plan", "p"}});
  EXPECT_FALSE(prepared->check(Cost{1}).allowed);
  clock_->advance(2min);
  EXPECT_TRUE(prepared->check(Cost{1}).allowed);
}

TEST_P(NewWindows, AFormerLengthIsRememberedUntilItsWindowHasPassed) {
  load({100, 1min}, Numbers{1'000, 60min});
  ASSERT_EQ(take("p"), 1'000);
  clock_->advance(2min);
  load({100, 1min});
  load({100, 1min}, Numbers{1'000, 60min});
  EXPECT_EQ(take("p"), 0) << "a thousand have passed in this hour";
  clock_->advance(3h);
  EXPECT_EQ(take("p"), 1'000);
}

// Reloads and overrides bring windows of an hour and multiples of it. At every admission, all that passed in the
// current hour is within the limit that applied; a sliding log keeps that for any hour.
TEST_P(NewWindows, NeverMoreThanTheLimitInTheShortestWindow) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](unsigned bound) { return static_cast<std::int64_t>(random() % bound); };
    const auto numbers = [&] { return Numbers{20 + 20 * below(5), (1 + below(6)) * 60min}; };
    begin_again();
    std::vector<std::pair<std::int64_t, std::int64_t>> passed;
    load(numbers());
    for (int step = 0; step < 300; ++step) {
      const std::int64_t kind = below(20);
      if (kind == 0) load(numbers());
      if (kind == 1) load(numbers(), numbers());
      if (kind == 2) override_window(numbers());
      const std::int64_t cost = 1 + below(12);
      const Decision decision = ask(below(2) == 0 ? "p" : "", cost);
      const std::int64_t now = micros(clock_->now());
      if (decision.allowed) {
        passed.emplace_back(now, cost);
        std::int64_t sum = 0;
        for (const auto& [time, units] : passed) {
          const bool same_hour = time / 3'600'000'000 == now / 3'600'000'000;
          if (GetParam() == Algorithm::sliding_log ? time > now - 3'600'000'000 : same_hour) sum += units;
        }
        ASSERT_LE(sum, decision.rules[0].limit) << "step " << step;
      }
      clock_->advance(Duration{below(kind == 3 ? 3'000'000'000U : 400'000'000U)});
    }
  }
}

}  // namespace
}  // namespace weir::engine
