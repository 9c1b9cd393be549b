#include "engine/stages/fallback_times.h"

#include <gtest/gtest.h>

#include <thread>

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart = from_micros(1'800'000'000'000'000);

TEST(FallbackTimes, CountFromTheFirstFailure) {
  FallbackTimes times;
  EXPECT_FALSE(times.any());
  EXPECT_EQ(times.failed(7, kStart), 0s);
  EXPECT_EQ(times.failed(7, kStart + 1s), 1s);
  EXPECT_EQ(times.failed(7, kStart + 1h), 1h) << "a rule that is rarely asked is on its fallback all the same";
  EXPECT_EQ(times.failed(8, kStart + 1h), 0s) << "each rule by itself";
  EXPECT_TRUE(times.any());
  ASSERT_EQ(times.spells().size(), 2u);
  EXPECT_EQ(times.spells()[0].ordinal, 7u);
  EXPECT_EQ(times.spells()[0].since, kStart);
}

TEST(FallbackTimes, EndWithAnAnswerOnceTheStoreHasSettled) {
  FallbackTimes times;
  times.failed(1, kStart);
  times.answered(1, kStart + 1s);
  EXPECT_EQ(times.failed(1, kStart + 3s), 3s) << "a store that answers now and then is not back";
  times.answered(1, kStart + 3s + FallbackTimes::kSettled - 1us);
  EXPECT_TRUE(times.any());
  times.answered(1, kStart + 3s + FallbackTimes::kSettled);
  EXPECT_FALSE(times.any());
  EXPECT_TRUE(times.spells().empty());
  EXPECT_EQ(times.failed(1, kStart + 1min), 0s) << "another spell";
}

TEST(FallbackTimes, AnswersForRulesThatNeverFailedMeanNothing) {
  FallbackTimes times;
  times.answered(5, kStart);
  times.answered(999'999, kStart);
  times.failed(rules::kMaxRuleNames - 1, kStart);
  EXPECT_EQ(times.spells().size(), 1u);
  times.forget(5);
  times.forget(rules::kMaxRuleNames - 1);
  EXPECT_FALSE(times.any());
}

TEST(FallbackTimes, ThreadsBeginAndEndASpellOnce) {
  FallbackTimes times;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&times] {
      for (std::uint32_t rule = 0; rule < 3'000; ++rule) {
        times.failed(rule, kStart);
        times.answered(rule, kStart + 1min);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const FallbackTimes::Spell& spell : times.spells()) times.forget(spell.ordinal);
  EXPECT_FALSE(times.any()) << "as many ends as beginnings";
}

}  // namespace
}  // namespace weir::engine
