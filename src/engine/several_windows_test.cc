// Rules whose plans and overrides have windows of other lengths: each length keeps its own count of all that passed.
#include <random>

#include "tests/support/windows_engine.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

class SeveralWindows : public WindowsTest {
 protected:
  static Override override_for(std::string method, std::int64_t limit, Duration window) {
    Override change;
    change.when = {Condition{.attribute = "method", .patterns = {std::move(method)}}};
    change.change.limit = limit;
    change.change.window = window;
    return change;
  }

  // 100 an hour; POST 10 a minute; PUT 40 in ten minutes.
  static Rule rule() {
    Rule rule = rule_of(100, 1h);
    rule.overrides = {override_for("POST", 10, 1min), override_for("PUT", 40, 10min)};
    return rule;
  }

  Decision ask(std::string_view method, std::int64_t cost = 1) { return check({"method", method}, cost); }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, SeveralWindows, algorithms_with_windows(), algorithm_in_a_test_name);

TEST_P(SeveralWindows, AShortOneDoesNotResetTheCountOfALongOne) {
  load(rule());
  ASSERT_TRUE(ask("GET", 100).allowed);
  EXPECT_FALSE(ask("POST").allowed) << "what passed counts in every window";
  clock_->advance(2min);
  EXPECT_TRUE(ask("POST").allowed);
  const Decision denied = ask("GET");
  EXPECT_FALSE(denied.allowed);
  EXPECT_GT(denied.retry_after, 50min);
  EXPECT_EQ(denied.rules.size(), 1U);
  clock_->advance(25min);
  EXPECT_TRUE(ask("PUT", 40).allowed) << "nothing passed in the last two windows of ten minutes";
  EXPECT_FALSE(ask("GET").allowed);
}

TEST_P(SeveralWindows, RefundsAndResetsReachAllOfThem) {
  load(rule());
  ASSERT_TRUE(ask("POST", 10).allowed);
  ASSERT_TRUE(ask("GET", 90).allowed);
  EXPECT_FALSE(ask("GET").allowed);
  refund({"method", "PUT"}, 95);
  EXPECT_TRUE(ask("POST", 5).allowed);
  EXPECT_FALSE(ask("POST").allowed);
  reset({"method", "GET"});
  EXPECT_TRUE(ask("POST", 10).allowed);
  EXPECT_EQ(ask("GET").decisive()->remaining, 89);
}

TEST_P(SeveralWindows, ADeniedRequestCountsInNone) {
  load(rule());
  ASSERT_TRUE(ask("POST", 10).allowed);
  for (int i = 0; i < 200; ++i) ASSERT_FALSE(ask("POST").allowed);
  EXPECT_EQ(ask("GET").decisive()->remaining, 89);
}

// At every admission, all that passed in the window of the numbers that applied is within their limit. A sliding
// counter and the oldest sub-bucket are approximate by design; of those the current window alone is looked at.
TEST_P(SeveralWindows, EachLengthCountsAllThatPassed) {
  struct Passed {
    std::int64_t time;
    std::int64_t units;
  };
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    begin_again();
    load(rule());
    std::vector<Passed> passed;
    constexpr struct {
      const char* method;
      std::int64_t limit;
      std::int64_t window;
    } kNumbers[] = {{"GET", 100, 3'600'000'000}, {"POST", 10, 60'000'000}, {"PUT", 40, 600'000'000}};
    for (int step = 0; step < 400; ++step) {
      const auto& numbers = kNumbers[random() % 3];
      const auto cost = static_cast<std::int64_t>(1 + random() % 12);
      const std::int64_t now = micros(clock_->now());
      if (ask(numbers.method, cost).allowed) {
        passed.push_back({now, cost});
        std::int64_t sum = 0;
        for (const Passed& one : passed) {
          const bool aligned = one.time / numbers.window == now / numbers.window;
          const bool rolling = one.time > now - numbers.window;
          if (GetParam() == Algorithm::sliding_log ? rolling : aligned) sum += one.units;
        }
        ASSERT_LE(sum, numbers.limit) << numbers.method << " at step " << step;
      }
      clock_->advance(Duration{random() % 120'000'000});
    }
  }
}

// More lengths than get buckets of their own still decide, and never more than their limits between two boundaries.
TEST_P(SeveralWindows, TooManyLengthsShareTheFirst) {
  Rule many = rule();
  many.overrides.clear();
  for (int i = 0; i < 12; ++i) many.overrides.push_back(override_for("M" + std::to_string(i), 5, (i + 2) * 10min));
  load(many);
  for (int i = 0; i < 12; ++i) {
    const Decision decision = ask("M" + std::to_string(i));
    EXPECT_EQ(decision.allowed, i < 5) << i;
    EXPECT_EQ(decision.rules.size(), 1U);
  }
}

// A shadow rule without room charges nothing, and the rules beside it are charged once.
TEST(EngineAtTheMemoryBound, AShadowRuleWithoutRoomDoesNotChargeTheOthersTwice) {
  class NoRoomForShadows final : public Store {
   public:
    bool begin(StoreCall& call) override {
      if (!memory_.begin(call)) return false;
      for (std::size_t i = 0; i < call.charges.size(); ++i) {
        if (!call.charges[i].binding) call.outcomes[i] = {.status = Code::resource_exhausted, .admitted = false};
      }
      return true;
    }
    bool immediate() const override { return true; }
    std::string_view name() const override { return "memory"; }

   private:
    memory::MemoryStore memory_;
  };
  Rule enforced;
  enforced.id = "enforced";
  enforced.per = {"tenant"};
  enforced.allowance = {.algorithm = Algorithm::fixed_window, .limit = 10, .window = 1h};
  Rule shadow = enforced;
  shadow.id = "shadow";
  shadow.mode = Mode::shadow;
  auto book = std::make_shared<rules::RuleBook>();
  ASSERT_TRUE(book->replace({.rules = {enforced, shadow}}).ok());
  LimiterOptions options;
  options.store = std::make_shared<NoRoomForShadows>();
  options.clock = std::make_shared<ManualClock>();
  options.hash_key = {1, 2, 3};
  Engine engine(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22}));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(engine.check({{"tenant", "acme"}}).allowed) << i;
  EXPECT_FALSE(engine.check({{"tenant", "acme"}}).allowed);
}

}  // namespace
}  // namespace weir::engine
